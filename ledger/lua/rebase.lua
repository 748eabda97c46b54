-- hello: finds or makes the identity of the store. A server with another run_id (restart, failover, restored
-- copy) or an epoch older than remembered may have lost writes: every instant planned until now counts as
-- possibly started and is never granted again (barrier), fences go on from the clock, the epoch is raised.
-- Who raised it is answered the barrier, and tells people.
-- So does a store that is made: it may stand in the place of one that was lost. What is registered in it begins
-- behind that barrier (`born`), so that nothing of a first deployment is called possibly started.
-- ARGV: prefix, run_id, new incarnation, remembered incarnation, remembered epoch, newest instant seen,
-- highest fence seen, margin ms (claims may come early, clocks of servers may differ), quarantine ms
local run_id, fresh, inc, epoch = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local seen, fence_seen, margin, quarantine = ARGV[6], ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9])

local function raise_fence()
  local at = string.format('%.0f', tonumber(time[1]) * 1000000 + tonumber(time[2]) + margin * 1000)
  local had = redis.call('GET', P .. 'fence') or '0'
  if less(at, had) then
    at = had
  end
  if less(at, fence_seen) then
    at = fence_seen
  end
  redis.call('SET', P .. 'fence', at)
end

-- Also shows that the user may ask this in scripts, as every one of them does.
if string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') ~= run_id then
  return answer('MOVED')
end
local s = fields(KEYS[1], 'v', 'inc', 'epoch', 'run_id', 'barrier', 'replaces')
if s.inc == '' then
  if inc ~= '' then
    return answer('STORE_LOST')
  end
  if redis.call('EXISTS', P .. 'units') == 1 then
    return answer('STORE_LOST')
  end
  raise_fence()
  local at = instant(now + margin)
  redis.call('HSET', KEYS[1], 'v', '1', 'inc', fresh, 'epoch', '1', 'run_id', run_id, 'barrier', at, 'born', at,
    'hold', instant(0))
  return answer('OK', fresh, '1')
end
if s.v ~= '1' then
  return answer('SCHEMA', s.v)
end
local counter = redis.call('GET', P .. 'fence')
if not counter then
  return answer('STORE_LOST')
end
-- Another identity is a loss, unless a person has accepted that it replaces the one remembered: then the barrier
-- lies behind all that was granted before. Where this process knows better, it is raised like after a restart.
local accepted = inc ~= '' and inc ~= s.inc and string.find(' ' .. s.replaces, ' ' .. inc .. ' ', 1, true)
if inc ~= '' and inc ~= s.inc and not accepted then
  return answer('STORE_OTHER', s.inc)
end
if accepted and (seen == '' or seen <= s.barrier) and s.run_id == run_id then
  return answer('OK', s.inc, s.epoch)
end
-- A counter behind what was seen is an older copy, put back into a server that went on.
if s.run_id == run_id and tonumber(s.epoch) >= epoch and not accepted and not less(counter, fence_seen) then
  return answer('OK', s.inc, s.epoch)
end

local limit = now
if seen ~= '' and tonumber(seen) > limit then
  limit = tonumber(seen)
end
limit = instant(limit + margin)
if limit < s.barrier then
  limit = s.barrier
end
epoch = string.format('%.0f', math.max(tonumber(s.epoch), epoch) + 1)
raise_fence()
redis.call('HSET', KEYS[1], 'epoch', epoch, 'run_id', run_id, 'barrier', limit, 'hold', instant(now + quarantine))
return answer('OK', s.inc, epoch, limit)
