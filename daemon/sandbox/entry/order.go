// Package entry is the part of hob that runs inside a sandbox: it checks and confines its own process and becomes the command. It
// takes over before main and before hob's other initialisers, so it imports nothing but syscall. It decides nothing: what it does is
// in the order that package sandbox hands over by a descriptor.
package entry

// Variable is set in the environment of a process that is to enter a sandbox. Spelled is its only value.
const (
	Variable = "HOB_ENTER"
	Spelled  = "3"
)

// The descriptors that such a process inherits.
const (
	Descriptor = 3 // the order, a file that is read from its beginning
	Status     = 4 // takes Ready when all is checked and confined, right before the process becomes the command
)

// Ready is what Status takes.
const Ready = "+"

// The records of an order. Those that check and confine are carried out in the order in which they stand.
const (
	Arg      = 'a' // a word of the command line
	Env      = 'e' // NAME=VALUE of the command's environment, which is made of nothing else
	View     = 'v' // device, inode, 1: read only; device and path as mountinfo names them, and the path that must be a mount of just that, NUL between
	Mask     = 'm' // device and inode; the path, which must not show that
	Dir      = 'd' // device and inode of the working folder
	State    = 's' // device and inode of hob's state folder; its device as mountinfo names it, NUL, its path there. No mount may show it
	Landlock = 'l' // the attributes of a rule set, as the kernel takes them
	Allow    = 'w' // rights for a folder, for a file; the path below which Landlock gives them, where it exists
	Seccomp  = 'f' // a filter, as the kernel takes it
)

// head is the size of what stands before the data of a record: its tag, and the size of the data in 4 bytes.
const head = 5

// Append adds a record to an order. Numbers in front of data have 8 bytes, the lowest first.
func Append(order []byte, tag byte, data string, numbers ...uint64) []byte {
	size := len(data) + 8*len(numbers)
	order = append(order, tag, byte(size), byte(size>>8), byte(size>>16), byte(size>>24)) // #nosec G115 -- its bytes
	for _, n := range numbers {
		for range 8 {
			order = append(order, byte(n)) // #nosec G115 -- its bytes
			n >>= 8
		}
	}
	return append(order, data...)
}
