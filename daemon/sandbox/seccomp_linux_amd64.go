package sandbox

import "golang.org/x/sys/unix"

// olderModes are the calls that set modes without a folder's descriptor, which newer processors do not have.
func olderModes() []flag {
	return []flag{
		{call: unix.SYS_CHMOD, tests: []test{{dataArg1, setID, true}}},
		{call: unix.SYS_CREAT, tests: []test{{dataArg1, setID, true}}},
		{call: unix.SYS_MKNOD, tests: []test{{dataArg1, setID, true}}},
		{call: unix.SYS_MKDIR, tests: []test{{dataArg1, setID, true}}},
		{call: unix.SYS_OPEN, tests: []test{{dataArg1, makes, true}, {dataArg2, setID, true}}},
	}
}
