-- For who settles the deaths of owners, and says what they left untold.

-- Owners of a node's lives before this one of whom there may be something to tell.
local function owners_before(node, life)
  local owners, all = {}, redis.call('HGETALL', P .. 'gn:' .. node)
  for i = 1, #all, 2 do
    if tonumber(all[i + 1]) < life then
      owners[#owners + 1] = all[i]
    end
  end
  table.sort(owners)
  return owners
end

-- For as long as a request may lie in a socket.
local GONE_MS = 3600000

local function bury(owner)
  redis.call('SET', P .. 'x:' .. owner, '1', 'PX', GONE_MS)
end
