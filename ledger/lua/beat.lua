-- A node says that it lives; in the same step it becomes the main node, or stays it, if it may.
-- ARGV: prefix, epoch, run_id, node, token, tokens of its lives before (with blanks between them), host, boot,
-- version, tzdata, config, pid, offline ms, life of the lease of the main node in ms, leaving
-- needs prelude_nodes.lua
local verdict = gate(ARGV[2], ARGV[3])
if verdict ~= 'OK' then
  return answer(verdict)
end
local node, token, before, offline, main_ms = ARGV[4], ARGV[5], ARGV[6], ARGV[13], ARGV[14]
local leaving = ARGV[15] == '1'
local key = P .. 'n:' .. node

-- The clock went back: who was heard of then counts from now, or a name would be taken for as long as it went back.
for _, other in ipairs(redis.call('ZRANGEBYSCORE', P .. 'nodes', '(' .. NOW, '+inf', 'LIMIT', 0, NODES_MAX)) do
  redis.call('HSET', P .. 'n:' .. other, 'beat', NOW)
  redis.call('ZADD', P .. 'nodes', NOW, other)
end

local n = fields(key, 'token', 'host', 'pid', 'started', 'beat', 'left')
local is_next = n.token == '' or n.left == '1' or string.find(' ' .. before .. ' ', ' ' .. n.token .. ' ', 1, true)
if n.token ~= token and not is_next and now - tonumber(n.beat) < tonumber(offline) then
  return answer('OK', 'clone', n.token, n.host, n.pid)
end
redis.call('HSET', key, 'token', token, 'host', ARGV[7], 'boot', ARGV[8], 'version', ARGV[9], 'tzdata', ARGV[10],
  'config', ARGV[11], 'pid', ARGV[12], 'offline', offline, 'beat', NOW, 'left', ARGV[15],
  'started', n.token == token and n.started or NOW)
redis.call('ZADD', P .. 'nodes', NOW, node)

local m = main_node()

local function hold_lease()
  redis.call('SET', P .. 'ml', token .. ' ' .. node, 'PX', main_ms)
  m.token, m.holder = token, node
end

-- Above every one before, also when the store went back to an older copy of itself.
local function become_main()
  local fence = math.max((tonumber(m.fence) or 0) + 1, tonumber(time[1]) * 1000000 + tonumber(time[2]))
  m.fence, m.node = string.format('%.0f', fence), node
  redis.call('HSET', P .. 'main', 'node', node, 'fence', m.fence, 'ms', main_ms)
  hold_lease()
end

-- Where it was pinned, nobody else takes it.
local function leave()
  if m.holder == node then
    redis.call('DEL', P .. 'ml')
    m.token, m.holder = nil, nil
  end
end

-- A lease longer than it was given: the clock went back. A holder that lives renews it.
if m.holder and redis.call('PTTL', P .. 'ml') > tonumber(m.ms) then
  redis.call('PEXPIRE', P .. 'ml', m.ms)
end
if leaving then
  leave()
elseif m.holder == node and m.token == token then
  if m.ms ~= main_ms then
    redis.call('HSET', P .. 'main', 'ms', main_ms)
  end
  hold_lease()
elseif m.holder == node or (not m.holder and (m.pinned ~= '1' or m.node == node)) then
  become_main()
end

for _, old in ipairs(redis.call('ZRANGEBYSCORE', P .. 'nodes', '-inf', instant(now - FORGET_MS), 'LIMIT', 0, 100)) do
  if m.pinned ~= '1' or m.node ~= old then
    redis.call('DEL', P .. 'n:' .. old)
    redis.call('ZREM', P .. 'nodes', old)
  end
end
return answer('OK', 'ok', (m.holder == node and m.token == token) and '1' or '0', group(m))
