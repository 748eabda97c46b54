-- What a dead owner, or the earlier lives of a node, decided without a start and may not have logged: a page of
-- it, newest first. Nothing changes but that what is too old to be told goes, until it is said to be in a log.
-- ARGV: prefix, epoch, run_id, owner or '', node, life, how many were told before
-- needs prelude_deaths.lua
local PAGE = 500
local verdict = gate(ARGV[2], ARGV[3])
if verdict ~= 'OK' then
  return answer(verdict)
end
local owners = ARGV[4] ~= '' and { ARGV[4] } or owners_before(ARGV[5], tonumber(ARGV[6]))
local skip = tonumber(ARGV[7])
local answers = answer('OK')

local function length(key)
  local newest = redis.call('LINDEX', key, -1)
  if not newest then
    return 0
  end
  local limit = instant(tonumber(entry_time(newest)) - UNTOLD_MS)
  while entry_time(redis.call('LINDEX', key, 0)) < limit do
    redis.call('LPOP', key)
  end
  return redis.call('LLEN', key)
end

local function tell(owner, entry)
  local row = cjson.decode(string.sub(entry, 16))
  row[#row + 1] = owner
  answers[#answers + 1] = row
end

for _, owner in ipairs(owners) do
  local key = P .. 'g:' .. owner
  local len = length(key)
  local room = 3 + PAGE - #answers
  if skip < len and room > 0 then
    local entries = redis.call('LRANGE', key, math.max(len - skip - room, 0), len - skip - 1)
    for i = #entries, 1, -1 do
      tell(owner, entries[i])
    end
  end
  skip = math.max(skip - len, 0)
end
return answers
