-- The newest records and ranges, running and queued ones first, at most `limit` rows and 8 MiB.
-- ARGV: prefix, task or '', state or '', since or '', limit
local task, state, since, limit = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local PAGE, LOOK, BYTES = 200, 20000, 8388608
local rows, bytes, looked = {}, 0, 0

local function wanted(row)
  return (state == '' or row.state == state) and (since == '' or (row.last or row.planned) >= since)
end

local function add(flat, of)
  local row = {}
  for i = 1, #flat, 2 do
    row[flat[i]] = flat[i + 1]
    bytes = bytes + #flat[i + 1]
  end
  if wanted(row) then
    flat[#flat + 1] = 'task'
    flat[#flat + 1] = of
    rows[#rows + 1] = flat
  end
end

local function full()
  return #rows >= limit or bytes >= BYTES or looked >= LOOK
end

if state == '' or state == 'running' then
  for _, occ in ipairs(redis.call('ZREVRANGE', P .. 'run', 0, -1)) do
    local r = record(occ)
    if r.state == 'running' and (task == '' or task == r.task) and not full() then
      add({ 'occ', occ, 'trig', r.trig, 'fence', r.fence, 'owner', r.owner, 'scope', r.scope, 'shard', r.shard,
        'planned', r.planned, 'state', r.state, 'cause', '', 'started', r.since .. '000000' }, r.task)
    end
  end
end

if state == '' or state == 'queued' then
  local units = redis.call('HGETALL', P .. 'qs')
  for i = 1, #units, 2 do
    if (task == '' or task == cjson.decode(units[i + 1])[2]) and not full() then
      for _, occ in ipairs(redis.call('ZREVRANGE', P .. 'q:' .. units[i], 0, limit)) do
        local r = record(occ)
        if r.state == 'queued' and not full() then
          add({ 'occ', occ, 'trig', r.trig, 'fence', '', 'owner', r.owner, 'scope', r.scope, 'shard', r.shard,
            'planned', r.planned, 'state', 'queued', 'cause', '' }, r.task)
        end
      end
    end
  end
end

local stream = task == '' and P .. 'recent' or P .. 'h:' .. task
local upto = '+'
while state ~= 'running' and state ~= 'queued' and not full() do
  local page = redis.call('XREVRANGE', stream, upto, '-', 'COUNT', PAGE)
  for _, entry in ipairs(page) do
    looked = looked + 1
    upto = '(' .. entry[1]
    if task ~= '' then
      add(entry[2], task)
    else
      local of, id = entry[2][2], entry[2][4]
      local found = redis.call('XRANGE', P .. 'h:' .. of, id, id)
      if found[1] then
        add(found[1][2], of)
      end
    end
    if full() then
      break
    end
  end
  if #page < PAGE then
    break
  end
end
local answers = answer('OK')
for i = 1, #rows do
  answers[i + 3] = rows[i]
end
return answers
