-- Which nodes there are, and who is main.
-- ARGV: prefix
-- needs prelude_nodes.lua
return answer('OK', group(main_node()))
