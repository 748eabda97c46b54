-- Leases that ran out. Their holders are told, to be watched; those that the caller has watched for long enough are
-- ended. What it ended is told again until its next sweep says that it was heard: the reply may be lost; and it is
-- among what the caller's own death brings to light, since it may die before it says so in its log.
-- ARGV: prefix, epoch, run_id, owner, node, life, how many were heard of, these, then the watched ones
-- needs prelude_slots.lua
local verdict = gate(ARGV[2], ARGV[3])
if verdict ~= 'OK' then
  return answer(verdict)
end
if NOW < hold then
  return answer('HOLD')
end
local PAGE = 256
local by = { owner = ARGV[4], node = ARGV[5], life = ARGV[6] }
local heard, mine = tonumber(ARGV[7]), P .. 'e:' .. by.owner
local ends, expired, stale = {}, {}, {}

if is_gone(by.owner) then
  return answer('OK', ends, expired)
end
for i = 8, 7 + heard do
  if redis.call('SREM', mine, ARGV[i]) == 1 then
    forget_owner(ARGV[i], by)
  end
end
for i = 8 + heard, #ARGV do
  stale[ARGV[i]] = true
end
for _, occ in ipairs(redis.call('SMEMBERS', mine)) do
  local r = record(occ)
  if r.unit == '' then
    redis.call('SREM', mine, occ)
  else
    ends[#ends + 1] = ended(occ, r, r.state, r.why, false)
  end
end

-- The clock went back: leases last longer than they were given. Who lives renews them; who does not would keep its
-- unit for as long as the clock went back.
local function cut_leases()
  for _, occ in ipairs(redis.call('ZRANGE', P .. 'run', 0, -1)) do
    local ms = tonumber(redis.call('HGET', P .. 'o:' .. occ, 'lease') or '')
    if ms and redis.call('PTTL', P .. 'l:' .. occ) > ms then
      redis.call('PEXPIRE', P .. 'l:' .. occ, string.format('%.0f', ms))
      redis.call('ZADD', P .. 'run', instant(now + ms), occ)
    end
  end
end

if NOW < (redis.call('GET', P .. 'swept') or '') then
  cut_leases()
end

local function end_watched(occ)
  local row = end_dead(occ, by)
  if #row > 0 then
    redis.call('SADD', mine, occ)
    redis.call('PEXPIRE', mine, UNTOLD_KEEP_MS)
    ends[#ends + 1] = row
  end
end

for _, occ in ipairs(redis.call('ZRANGEBYSCORE', P .. 'run', '-inf', NOW, 'LIMIT', 0, PAGE)) do
  local r = record(occ)
  if r.unit == '' then
    redis.call('ZREM', P .. 'run', occ)
  elseif r.state ~= 'running' and r.ending ~= '1' then
    free_slot(occ, r)
  elseif stale[occ] and #ends < PAGE and redis.call('EXISTS', P .. 'l:' .. occ) == 0 then
    end_watched(occ)
  else
    expired[#expired + 1] = { occ, r.seq, r.lease }
  end
end

-- The history of a task that is not run any more is trimmed by nobody else: that of some tasks each time.
local function trim_some()
  local page = redis.call('HSCAN', P .. 'hk', redis.call('GET', P .. 'hc') or '0', 'COUNT', 10)
  for i = 1, #page[2], 2 do
    local task, age = page[2][i], string.match(page[2][i + 1], ' (%d+)$')
    if age ~= '0' then
      redis.call('XTRIM', P .. 'h:' .. task, 'MINID', string.format('%.0f', math.max(now - tonumber(age), 0)))
      if redis.call('XLEN', P .. 'h:' .. task) == 0 then
        redis.call('DEL', P .. 'h:' .. task)
        redis.call('HDEL', P .. 'hk', task)
      end
    end
  end
  redis.call('SET', P .. 'hc', page[1])
end

-- A full server refuses these two, which can wait.
redis.pcall('SET', P .. 'swept', NOW)
pcall(trim_some)
return answer('OK', ends, expired)
