package sandbox

import "golang.org/x/sys/unix"

// olderModes lists the older calls that set modes by path. Newer processors do not have them.
func olderModes() []flag {
	return []flag{
		{call: unix.SYS_CHMOD, tests: []test{{dataArg1, setID, true}}},
		{call: unix.SYS_CREAT, tests: []test{{dataArg1, setID, true}}},
		{call: unix.SYS_MKNOD, tests: []test{{dataArg1, setID, true}}},
		{call: unix.SYS_MKDIR, tests: []test{{dataArg1, setID, true}}},
		{call: unix.SYS_OPEN, tests: []test{{dataArg1, makes, true}, {dataArg2, setID, true}}},
	}
}
