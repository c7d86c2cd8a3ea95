// Package entry is the part of hob that runs inside a sandbox. It checks and confines its own process, then becomes the command.
//
// It takes over before main and before hob's other initialisers, so it imports only syscall. It decides nothing: package sandbox writes a
// list of instructions (the order) and passes it through a descriptor, and this package carries it out.
package entry

// Variable is set in the environment of a process that must enter a sandbox. Spelled is its only valid value; it changes with the format
// of the order.
const (
	Variable = "HOB_ENTER"
	Spelled  = "4"
)

// The descriptors that such a process inherits.
const (
	Descriptor = 3 // a file with the order, read from its beginning
	Status     = 4 // a pipe or socket; Ready is written to it after all checks, right before the process becomes the command
)

// Ready is the text that the process writes to Status.
const Ready = "+"

// The tags of an order's records. Checks and restrictions are carried out in the order in which they are written.
const (
	Arg      = 'a' // one argument of the command line
	Env      = 'e' // one NAME=VALUE; the command's environment holds nothing else
	View     = 'v' // device, inode, 1 for read only; then the device and root from mountinfo and the mount point, separated by NUL
	Mask     = 'm' // device and inode; then the path, which must not show them
	Dir      = 'd' // device and inode of the working folder
	State    = 's' // device and inode of hob's state folder; then its device from mountinfo, NUL, and its path in that file system; then the paths in it that views show, each after a NUL. No mount may show anything else of it
	Landlock = 'l' // the attributes of a rule set in the kernel's format
	Allow    = 'w' // rights for a folder, rights for a file; then the path below which Landlock grants them, if it exists
	Seccomp  = 'f' // flags, then a filter in the kernel's format. If a flag asks for a listener, that goes to Status with Ready
)

// head is the size of a record's header: the tag, and the size of the data in 4 bytes.
const head = 5

// Append adds a record to an order. Numbers come before the data, each as 8 bytes, little-endian.
func Append(order []byte, tag byte, data string, numbers ...uint64) []byte {
	size := len(data) + 8*len(numbers)
	// The size is little-endian too.
	order = append(order, tag, byte(size), byte(size>>8), byte(size>>16), byte(size>>24)) // #nosec G115 -- its bytes
	for _, n := range numbers {
		for range 8 {
			order = append(order, byte(n)) // #nosec G115 -- its bytes
			n >>= 8
		}
	}
	return append(order, data...)
}
