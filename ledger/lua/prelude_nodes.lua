-- For what nodes say of themselves. `nodes` has their newest beats, `n:` of each what it said; `main` is who is the
-- main node, or is to be, with the fence of the newest that was; `ml` is the lease of the main node: its token, a
-- blank and its id. It has no token while it is kept for a node that the operator chose and that has not come yet.
local NODES_MAX, FORGET_MS = 1000, 604800000

local function main_node()
  local m = fields(P .. 'main', 'node', 'fence', 'pinned', 'ms')
  m.lease = redis.call('GET', P .. 'ml') or ''
  m.token, m.holder = string.match(m.lease, '^(%x*) (.*)$')
  return m
end

-- '': whoever comes first will be.
local function main_name(m)
  return (m.holder or m.pinned == '1') and m.node or ''
end

local function node_row(node, m)
  local n = fields(P .. 'n:' .. node, 'token', 'host', 'boot', 'version', 'tzdata', 'config', 'pid', 'started', 'beat',
    'offline', 'left')
  local silent = n.left == '1' or now - (tonumber(n.beat) or 0) > (tonumber(n.offline) or 0)
  return { node, n.token, n.host, n.boot, n.version, n.tzdata, n.config, n.pid, n.started, n.beat,
    silent and '1' or '0', (m.holder == node and m.token == n.token) and '1' or '0' }
end

-- The newest in their beats, if not all.
local function group(m)
  local rows = {}
  for i, node in ipairs(redis.call('ZREVRANGE', P .. 'nodes', 0, NODES_MAX - 1)) do
    rows[i] = node_row(node, m)
  end
  local unlisted = redis.call('ZCARD', P .. 'nodes') - #rows
  return { main_name(m), m.fence, m.pinned == '1' and '1' or '0', string.format('%d', unlisted), rows }
end
