package sandbox

import "golang.org/x/sys/unix"

// olderModes lists the older calls that set modes by path. Newer processors do not have them.
func olderModes(fifos uint32) []flag {
	return []flag{
		{call: unix.SYS_CHMOD, tests: []test{{dataArg1, setID, has}}},
		{call: unix.SYS_CREAT, tests: []test{{dataArg1, setID, has}}},
		{call: unix.SYS_MKNOD, tests: []test{{dataArg1, setID, has}}},
		{call: unix.SYS_MKNOD, tests: []test{{dataArg1, unix.S_IFIFO, has}}, answer: fifos},
		{call: unix.SYS_MKDIR, tests: []test{{dataArg1, setID, has}}},
		{call: unix.SYS_OPEN, tests: []test{{dataArg1, makes, has}, {dataArg2, setID, has}}},
	}
}
