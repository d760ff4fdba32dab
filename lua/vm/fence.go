package vm

// fence runs in front of each script, on its first line so that the lines of its
// errors stay what they are. It takes away what would reach from a script to the
// machine that judges it, where a script is somebody's input and may be hostile:
//
//   - print is silent. In Argo CD it writes to the controller's log, here it would
//     write into the result of the command.
//   - No file is read: dofile, loadfile, and require of a file are gone.
//   - With openLibs, the functions of os that do more than tell the time are gone,
//     and so are io and channel, which can wait for ever.
//
// A script that calls one of them raises.
const fence = `do ` +
	`print = function() end; _printregs = print; dofile = nil; loadfile = nil; package.loaders[2] = nil; ` +
	`if io then ` +
	`for _, name in ipairs({"execute", "exit", "getenv", "remove", "rename", "setenv", "setlocale", "tmpname"}) do os[name] = nil end; ` +
	`for name in pairs(io) do io[name] = nil end; ` +
	`io = nil; package.loaded.io = nil; channel = nil; package.loaded.channel = nil; ` +
	`end; end; `
