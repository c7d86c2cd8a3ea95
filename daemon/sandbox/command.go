package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"hob/daemon/sandbox/entry"
)

// entryTime limits the start of a sandbox, from the start of the process until the command begins. It normally takes milliseconds.
const entryTime = 30 * time.Second

// ErrEntry says that a command did not begin: its sandbox could not be made, or its folders were not those that hob had checked.
var ErrEntry = errors.New("the sandbox could not be entered")

// Command is a command that is ready to be started in its sandbox, once. The caller starts it with Prepare, waits for Entered, and calls
// Close in any case.
type Command struct {
	Argv  []string   // the command line to start: bwrap or sandbox-exec
	Env   []string   // the environment of that program; the command inside gets its own
	Files []*os.File // inherited files, from descriptor 3 on
	Bound *Bound     // the limits of memory and processes
	Calls *Calls     // after Entered, the calls that hob decides about; nil: none. The caller runs its Serve

	status *os.File // on which package entry reports that the command begins
	shown  layout   // the folders that the sandbox shows, held open until then
}

// order starts the instructions for package entry with the command line and the environment of the command.
func order(argv, env []string) []byte {
	var order []byte
	for _, word := range argv {
		order = entry.Append(order, entry.Arg, word)
	}
	for _, pair := range env {
		order = entry.Append(order, entry.Env, pair)
	}
	return order
}

// handOver makes the Command that starts argv and passes it the order through descriptor 3. The Command takes over what l holds.
func handOver(argv []string, order []byte, l layout) (*Command, error) {
	file, err := memory(order)
	if err != nil {
		return nil, fmt.Errorf("hand over the command: %w", err)
	}
	read, write, err := statusPipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a pipe: %w", err), file.Close())
	}
	// Package entry lives for a millisecond: it needs no second processor and collects no garbage.
	env := []string{"GOMAXPROCS=1", "GOGC=off"}
	return &Command{
		Argv: argv, Env: append(env, "LANG=C", "PATH=/usr/local/bin:/usr/bin:/bin", entry.Variable+"="+entry.Spelled), Files: []*os.File{file, write}, status: read, shown: l,
	}, nil
}

// firstView is the descriptor of the first view if the views are passed by descriptor.
const firstView = entry.Status + 1

// inherit passes the folders of the sandbox to the process as descriptors: the views first, then the scratch folder.
func (c *Command) inherit() {
	for _, v := range c.shown.views {
		c.Files = append(c.Files, v.is.file)
	}
	if c.shown.scratch != nil {
		c.Files = append(c.Files, c.shown.scratch.is.file)
	}
}

// Prepare sets up a process that is not started yet to run the command. cmd.Env may hold further variables for bwrap, never variables
// that the command controls.
func (c *Command) Prepare(cmd *exec.Cmd) {
	cmd.Path, cmd.Args, cmd.Env, cmd.ExtraFiles = c.Argv[0], c.Argv, append(cmd.Env, c.Env...), c.Files
}

// Entered waits, after the start, until the command has begun in its sandbox. With ErrEntry it never begins, and the output of the
// process says why.
func (c *Command) Entered() error {
	if err := c.release(); err != nil {
		return err
	}
	if err := c.status.SetReadDeadline(time.Now().Add(entryTime)); err != nil {
		return fmt.Errorf("wait for the sandbox: %w", err)
	}
	n, listener, err := receive(c.status, make([]byte, len(entry.Ready)))
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrEntry, err)
	}
	c.Calls = newCalls(listener, c.shown.offline)
	return nil
}

// release closes hob's copies of the inherited files.
func (c *Command) release() error {
	var errs []error
	for _, f := range c.Files[:min(len(c.Files), firstView-entry.Descriptor)] { // the layout owns the other files
		errs = append(errs, f.Close())
	}
	c.Files = nil
	return errors.Join(errs...)
}

// Close releases the files of the command. It does not end the process.
func (c *Command) Close() error {
	return errors.Join(c.release(), c.status.Close(), c.shown.release())
}
