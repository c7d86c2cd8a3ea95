package document

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// confine gives up everything that reading a file does not need: memory above a limit, processor
// time, and writing files.
func confine() error {
	for what, most := range map[int]uint64{
		unix.RLIMIT_DATA: hardLimit, unix.RLIMIT_CPU: uint64(2 * maxTime.Seconds()), unix.RLIMIT_FSIZE: 0, unix.RLIMIT_CORE: 0,
	} {
		if err := unix.Setrlimit(what, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("limit resource %d: %w", what, err)
		}
	}
	return nil
}
