-- The operator says who is to be the main node. Whoever asks has said no hello that settles the epoch: it may be a
-- process that only reads beside this.
-- ARGV: prefix, run_id, node ('': whoever comes first), pinned, who asks
-- needs prelude_nodes.lua
local run_id, node, pinned = ARGV[2], ARGV[3], ARGV[4]

if string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') ~= run_id then
  return answer('MOVED')
end
if node ~= '' and redis.call('EXISTS', P .. 'n:' .. node) == 0 then
  return answer('OK', 'unknown')
end
local m = main_node()
if node == '' then
  pinned = '0'
end
redis.call('HSET', P .. 'main', 'node', node, 'pinned', pinned, 'by', ARGV[5], 'at', NOW)
if node == '' then
  redis.call('DEL', P .. 'ml')
elseif m.holder ~= node then
  -- The old one's lease is void at once. It is kept for the new one for as long as that is not called offline.
  local ms = redis.call('HGET', P .. 'n:' .. node, 'offline')
  redis.call('SET', P .. 'ml', ' ' .. node, 'PX', ms)
  redis.call('HSET', P .. 'main', 'ms', ms)
end
return answer('OK', 'ok', main_name(m))
