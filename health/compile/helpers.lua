-- The helpers of generated scripts. A script holds those that it uses, and what
-- they use, in this order. nil stands for an error of CEL: no helper raises.

-- the value under a key, nil where there is none
local function field(value, key)
  if type(value) == "table" then return value[key] end
end

-- like field, for a list position or key that is only known now
local function at(value, key)
  if type(key) == "number" then key = key + 1 end
  if key ~= nil then return field(value, key) end
end

-- has(value.key) is false
local function lacks(value, key)
  if type(value) ~= "table" then return value ~= nil end
  return value[key] == nil and value[1] == nil
end

-- value.?key: is there a value that can be asked?
local function open(value, key)
  return value ~= nil and (type(value) ~= "table" or type(key) == "number" or value[1] == nil)
end

-- value.?key.orValue(default)
local function getOr(value, key, default)
  if type(value) == "table" then
    if value[key] ~= nil then return value[key] end
    if value[1] ~= nil then return nil end
  end
  if value ~= nil then return default end
end

-- value[?position].orValue(default)
local function entryOr(value, position, default)
  if type(value) == "table" and value[position] ~= nil then return value[position] end
  if value ~= nil then return default end
end

-- a whole number that Lua holds exactly
local function whole(n)
  if type(n) == "number" and n % 1 == 0 and n > -9007199254740992 and n < 9007199254740992 then return n end
end

-- true, false, or nil for neither
local function truth(yes, no)
  if yes then return true elseif no then return false end
end

-- condition ? a : b
local function choose(yes, no, a, b)
  if yes then return a elseif no then return b end
end

-- a == b for anything but two collections
local function equal(a, b)
  if a ~= nil and b ~= nil then return a == b end
end

-- a == b, collections by what they hold
local function same(a, b)
  if a == nil or b == nil then return nil end
  local left, right, n = { a }, { b }, 1
  while n > 0 do
    a, b, n = left[n], right[n], n - 1
    if a ~= b then
      if type(a) ~= "table" or type(b) ~= "table" then return false end
      for key in pairs(b) do
        if a[key] == nil then return false end
      end
      for key, value in pairs(a) do
        if b[key] == nil then return false end
        n = n + 1
        left[n], right[n] = value, b[key]
      end
    end
  end
  return true
end

-- a generation, a whole number or its decimal text, that is below another
local function older(seen, generation)
  local n = tonumber(seen)
  return n and tostring(n) == tostring(seen) and n % 1 == 0 and n > -9007199254740992 and n < 9007199254740992
    and type(generation) == "number" and n < generation
end

-- a < b
local function less(a, b)
  local kind = type(a)
  if kind ~= type(b) then return false end
  if kind == "boolean" then return b and not a end
  return (kind == "number" or kind == "string") and a < b
end

-- a <= b
local function atMost(a, b)
  local kind = type(a)
  if kind ~= type(b) then return false end
  if kind == "boolean" then return b or not a end
  return (kind == "number" or kind == "string") and a <= b
end

-- an entry that is not of an older generation than the object
local function current(entry, metadata)
  return lacks(entry, "observedGeneration") or lacks(metadata, "generation")
    or atMost(field(metadata, "generation"), field(entry, "observedGeneration"))
end

-- value in collection
local function contains(collection, value)
  if type(collection) ~= "table" or value == nil then return nil end
  if collection[1] == nil then return type(value) == "string" and collection[value] ~= nil end
  for _, element in ipairs(collection) do
    if same(element, value) then return true end
  end
  return false
end

-- value in a list of literals
local function oneOf(value, list)
  if value == nil then return nil end
  for _, element in ipairs(list) do
    if element == value then return true end
  end
  return false
end

-- a + b of whole numbers
local function add(a, b)
  if whole(a) and whole(b) then return whole(a + b) end
end

local function subtract(a, b)
  if whole(a) and whole(b) then return whole(a - b) end
end

local function multiply(a, b)
  if whole(a) and whole(b) then return whole(a * b) end
end

-- a / b, rounded towards zero
local function divide(a, b)
  if not whole(a) or not whole(b) or b == 0 then return nil end
  local x, y = a, b
  if x < 0 then x = -x end
  if y < 0 then y = -y end
  local quotient = (x - x % y) / y
  if (a < 0) ~= (b < 0) then return -quotient end
  return quotient
end

-- a % b, with the sign of a
local function modulo(a, b)
  if not whole(a) or not whole(b) or b == 0 then return nil end
  local x, y = a, b
  if x < 0 then x = -x end
  if y < 0 then y = -y end
  if a < 0 then return -(x % y) end
  return x % y
end

local function negate(a)
  if whole(a) then return -a end
end

-- n texts one after another
local function concat(n, texts)
  for i = 1, n do
    if type(texts[i]) ~= "string" then return nil end
  end
  return table.concat(texts)
end

-- a + b of two lists
local function append(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then return nil end
  if a[1] == nil and next(a) ~= nil or b[1] == nil and next(b) ~= nil then return nil end
  local all = {}
  for _, value in ipairs(a) do all[#all + 1] = value end
  for _, value in ipairs(b) do all[#all + 1] = value end
  return all
end

-- a + b of whatever they are
local function plus(a, b)
  if type(a) == "string" then return concat(2, { a, b }) end
  if type(a) == "table" then return append(a, b) end
  return add(a, b)
end

-- a collection that is meant to have n entries; one that is missing was an error
local function complete(n, collection)
  for _ in pairs(collection) do n = n - 1 end
  if n == 0 then return collection end
end

-- string(value)
local function str(value)
  local kind = type(value)
  if kind == "string" or kind == "boolean" or kind == "number" and value > -9007199254740992 and value < 9007199254740992 then
    return tostring(value)
  end
end

-- int(value)
local function int(value)
  if type(value) == "string" then
    local n = whole(tonumber(value))
    if n and tostring(n) == value then return n end
  elseif type(value) == "number" then
    if value < 0 then return whole(-(-value - -value % 1)) end
    return whole(value - value % 1)
  end
end

-- is it empty? nil for what cannot be
local function empty(value)
  if type(value) == "string" then return value == "" end
  if type(value) == "table" then return next(value) == nil end
end

-- size of a list or map
local function size(value)
  if type(value) ~= "table" then return nil end
  local n = 0
  for _ in pairs(value) do n = n + 1 end
  return n
end

-- size of a list, a map or a text, whose characters begin where no byte continues one
local function sizeOrLength(value)
  if type(value) == "string" then return #string.gsub(value, "[\128-\191]", "") end
  return size(value)
end

-- text.startsWith(prefix): no byte of a text is 255
local function startsWith(text, prefix)
  if type(text) ~= "string" or type(prefix) ~= "string" then return nil end
  return text >= prefix and text < prefix .. "\255"
end

-- does the test hold for one element, or key of a map?
local function any(collection, test)
  if type(collection) ~= "table" then return false end
  for i = 1, #collection do
    if test(collection[i]) then return true end
  end
  if collection[1] == nil then
    for key in pairs(collection) do
      if test(key) then return true end
    end
  end
  return false
end

-- does the test hold for each element, or key of a map?
local function every(collection, test)
  if type(collection) ~= "table" then return false end
  for i = 1, #collection do
    if not test(collection[i]) then return false end
  end
  if collection[1] == nil then
    for key in pairs(collection) do
      if not test(key) then return false end
    end
  end
  return true
end

-- the first entry for which the test holds, which is one that holds for tables only
local function find(list, test)
  if type(list) ~= "table" then return nil end
  for i = 1, #list do
    if test(list[i]) then return list[i] end
  end
end

-- does such a test hold for each entry? For the keys of a map it does not
local function all(list, test)
  if type(list) ~= "table" or list[1] == nil and next(list) ~= nil then return false end
  for i = 1, #list do
    if not test(list[i]) then return false end
  end
  return true
end

-- the elements, or the keys of a map in their order
local function items(collection)
  if type(collection) ~= "table" or collection[1] ~= nil then return collection end
  local keys = {}
  for key in pairs(collection) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

-- the first element for which the test holds
local function first(collection, test)
  if type(collection) ~= "table" then return nil end
  local list = items(collection)
  for i = 1, #list do
    if test(list[i]) then return list[i] end
  end
end

-- does the test hold for just one? An element for which it is neither true nor false is an error
local function one(collection, test)
  if type(collection) ~= "table" then return nil end
  local n = 0
  for _, value in ipairs(items(collection)) do
    local verdict = test(value)
    if verdict == nil then return nil end
    if verdict then n = n + 1 end
  end
  return n == 1
end

local function filter(collection, test)
  if type(collection) ~= "table" then return nil end
  local found = {}
  for _, value in ipairs(items(collection)) do
    local verdict = test(value)
    if verdict == nil then return nil end
    if verdict then found[#found + 1] = value end
  end
  return found
end

local function map(collection, change)
  if type(collection) ~= "table" then return nil end
  local changed = {}
  for _, value in ipairs(items(collection)) do
    value = change(value)
    if value == nil then return nil end
    changed[#changed + 1] = value
  end
  return changed
end

-- the texts of a list with a separator between them; table.concat takes some thousands at once
local function join(list, separator)
  if type(list) ~= "table" or type(separator) ~= "string" then return nil end
  if list[1] == nil and next(list) ~= nil then return nil end
  for _, text in ipairs(list) do
    if type(text) ~= "string" then return nil end
  end
  while #list > 1000 do
    local parts = {}
    for from = 1, #list, 1000 do
      local to = from + 999
      if to > #list then to = #list end
      parts[#parts + 1] = table.concat(list, separator, from, to)
    end
    list = parts
  end
  return table.concat(list, separator)
end

-- text.contains(part)
local function includes(text, part)
  if type(text) ~= "string" or type(part) ~= "string" then return nil end
  return string.find(text, part, 1, true) ~= nil
end

-- text.endsWith(suffix)
local function endsWith(text, suffix)
  if type(text) ~= "string" or type(suffix) ~= "string" then return nil end
  return suffix == "" or string.sub(text, -#suffix) == suffix
end

-- text.matches(), where one of the Lua patterns says what the expression says
local function matches(text, ...)
  if type(text) ~= "string" then return nil end
  for _, pattern in ipairs({ ... }) do
    if string.find(text, pattern) then return true end
  end
  return false
end

local function lowerAscii(text)
  if type(text) == "string" then return (string.gsub(text, "[A-Z]", string.lower)) end
end

local function upperAscii(text)
  if type(text) == "string" then return (string.gsub(text, "[a-z]", string.upper)) end
end

-- text.split(separator), which is not empty
local function split(text, separator)
  if type(text) ~= "string" then return nil end
  local parts, from = {}, 1
  while true do
    local first, last = string.find(text, separator, from, true)
    if not first then break end
    parts[#parts + 1] = string.sub(text, from, first - 1)
    from = last + 1
  end
  parts[#parts + 1] = string.sub(text, from)
  return parts
end

-- what Argo CD is told: a number or truth value is printed, a list or map is not
local function verdict(status, message)
  if message == nil or type(message) == "table" then message = "" end
  return { status = status, message = tostring(message) }
end
