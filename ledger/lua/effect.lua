-- An effect of a run, in one step with the check that the run may still make it. That it is being made is written
-- first, and by a command that a full server or a replica refuses: once it has passed, all that follows passes too, so
-- that what goes wrong from there on is the effect's own doing, and is told again to who asks again.
-- In front of this stands `local BODY`, for an effect that is a script: its text.
-- ARGV: prefix, epoch, run_id, occ, tok, fence, kind; for a stream then its name, its longest length, and names and
-- values of the entry; for a script how many keys and how many arguments, these, and names and values of the context
local TEXT_MAX = 65536
local verdict = gate(ARGV[2], ARGV[3])
if verdict ~= 'OK' then
  return answer(verdict)
end
if NOW < hold then
  return answer('HOLD')
end
local occ, tok, fence, kind = ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local key = P .. 'o:' .. occ

-- What an effect returned, as text. What a script calls an error is one, also when it does not raise it.
local function plain(v)
  if type(v) == 'table' and v.err then
    return 'failed', tostring(v.err)
  end
  if type(v) == 'table' and v.ok then
    return 'done', tostring(v.ok)
  end
  if type(v) == 'table' then
    local fine, text = pcall(cjson.encode, v)
    return 'done', fine and text or ''
  end
  if type(v) == 'number' and v == math.floor(v) then
    return 'done', string.format('%.0f', v)
  end
  return 'done', v and tostring(v) or ''
end

local function add_entry()
  if ARGV[9] == '0' then
    return plain(redis.pcall('XADD', ARGV[8], '*', unpack(ARGV, 10)))
  end
  return plain(redis.pcall('XADD', ARGV[8], 'MAXLEN', '~', ARGV[9], '*', unpack(ARGV, 10)))
end

local function run_script()
  local keys, arguments = tonumber(ARGV[8]), tonumber(ARGV[9])
  local body, wrong = loadstring('local KEYS, ARGV, onced = ...; ' .. BODY, '=script')
  if not body then
    return 'failed', wrong
  end
  local context = {}
  for i = 10 + keys + arguments, #ARGV, 2 do
    context[ARGV[i]] = ARGV[i + 1]
  end
  local fine, v = pcall(body, { unpack(ARGV, 10, 9 + keys) }, { unpack(ARGV, 10 + keys, 9 + keys + arguments) }, context)
  if not fine then
    return 'failed', tostring(type(v) == 'table' and v.err or v)
  end
  return plain(v)
end

local r = fields(key, 'state', 'tok', 'fence', 'effect')
local mine = r.tok == tok and r.fence == fence
if mine and r.effect ~= '' then
  local word, text = string.match(r.effect, '^(%a+) (.*)$')
  return answer('OK', word == 'done' and 'before' or word, text)
end
if not mine or r.state ~= 'running' or redis.call('GET', P .. 'l:' .. occ) ~= tok then
  return answer('OK', 'fenced', '')
end
redis.call('HSET', key, 'effect', 'failed ')
local word, text = (kind == 'stream' and add_entry or run_script)()
text = string.sub(text, 1, TEXT_MAX)
redis.call('HSET', key, 'effect', word .. ' ' .. text)
return answer('OK', word, text)
