-- failing.lua LOOP: a coroutine of the loop fails behind an await, and nothing catches the error.
local gpuorch = require "gpuorch"
local stream = assert(assert(assert(gpuorch.runtime_create()):device_open()):stream_create())

local function innermost() error "the sensor is unplugged" end
local function work()
    assert(stream:await())
    innermost()
end

local runs = {
    loop = function()
        local loop = require "gpuorch.loop"
        loop.spawn(work)
        loop.run()
    end,
    luv = function()
        require "gpuorch.luv".spawn(work)
        require "luv".run()
    end,
    cqueues = function()
        local controller = require "cqueues".new()
        require "gpuorch.cqueues".spawn(controller, work)
        assert(controller:loop())
    end,
}
runs[arg[1]]()
print "it went on"
