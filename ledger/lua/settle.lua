-- Ends the records of a dead owner, or of the earlier lives of a node, a page at a time. What was ended is told
-- until it is said to be in a log (said.lua), so that a lost reply costs no line of evidence. A record with a task
-- tree that may live keeps its slot (`ending`), with a lease of its own in case nobody comes to free it. What an
-- earlier boot left running may have finished without being able to say so: unknown.
-- ARGV: prefix, epoch, run_id, owner or '', node, life, boot, trees gone, then the occurrences that were told before
-- needs prelude_deaths.lua
local PAGE = 64
local verdict = gate(ARGV[2], ARGV[3])
if verdict ~= 'OK' then
  return answer(verdict)
end
local owner, node, life, boot, gone = ARGV[4], ARGV[5], tonumber(ARGV[6]), ARGV[7], ARGV[8] == '1'
local index = owner ~= '' and P .. 'w:' .. owner or P .. 'nr:' .. node

local function let_go(occ, r)
  redis.call('DEL', P .. 'l:' .. occ)
  free_slot(occ, r)
  redis.call('HSET', P .. 'o:' .. occ, 'ending', '0')
  redis.call('PEXPIRE', P .. 'o:' .. occ, RETENTION_MS)
  r.ending = '0'
end

local function close_running(occ, r)
  local power = owner == '' and r.boot ~= boot
  r.state, r.why = power and 'unknown' or 'interrupted', power and 'power' or 'worker_died'
  if r.tree ~= '1' or gone then
    let_go(occ, r)
    close_record(occ, r, r.state, r.why)
  else
    redis.call('SET', P .. 'l:' .. occ, r.tok, 'PX', r.lease)
    redis.call('HSET', P .. 'o:' .. occ, 'ending', '1')
    r.ending = '1'
    close_record(occ, r, r.state, r.why)
    redis.call('PERSIST', P .. 'o:' .. occ)
  end
end

local function settle(occ, r)
  if r.state == 'running' then
    close_running(occ, r)
  elseif gone and r.ending == '1' then
    let_go(occ, r)
  end
  if r.said ~= '1' then
    return ended(occ, r, r.state, r.why, r.ending == '1')
  end
  if r.ending ~= '1' then
    forget_owner(occ, r)
  end
end

if owner ~= '' then
  bury(owner)
end
local told = {}
for i = 9, #ARGV do
  told[ARGV[i]] = true
end
local answers = answer('OK')
for _, occ in ipairs(redis.call('SMEMBERS', index)) do
  local r = record(occ)
  if r.unit == '' then
    redis.call('SREM', index, occ)
  elseif not told[occ] and (owner ~= '' or tonumber(r.life) < life) then
    answers[#answers + 1] = settle(occ, r)
    if #answers == 3 + PAGE then
      return answers
    end
  end
end
return answers
