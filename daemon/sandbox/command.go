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

// entryTime bounds the way of a command into its sandbox, which takes milliseconds.
const entryTime = 30 * time.Second

// ErrEntry is that a command did not begin: its sandbox could not be made, or was not what hob had asked for.
var ErrEntry = errors.New("the sandbox could not be entered")

// Command is a command that is ready to be started in its sandbox, once. Close belongs to it.
type Command struct {
	Argv  []string   // what is started: the program that makes the sandbox
	Env   []string   // its environment; the command gets its own inside
	Files []*os.File // what it inherits, from descriptor 3 on
	Bound *Bound     // of what it takes

	status *os.File // tells that the command has begun
	shown  layout   // what its box shows, which is held until then
}

// order says what the entry of a sandbox is to become.
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

// handOver gives an order to the entry of the sandbox that argv makes. The command holds what l does.
func handOver(argv []string, order []byte, l layout) (*Command, error) {
	file, err := memory(order)
	if err != nil {
		return nil, fmt.Errorf("hand over the command: %w", err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a pipe: %w", err), file.Close())
	}
	return &Command{
		Argv: argv, Env: []string{"LANG=C", "PATH=/usr/local/bin:/usr/bin:/bin", entry.Variable + "=" + entry.Spelled}, Files: []*os.File{file, write}, status: read, shown: l,
	}, nil
}

// firstView is the descriptor of the first view, in a process that gets the views by descriptor.
const firstView = entry.Status + 1

// inherit gives the process what its box shows by descriptor: the views, then the scratch folder.
func (c *Command) inherit() {
	for _, v := range c.shown.views {
		c.Files = append(c.Files, v.is.file)
	}
	if c.shown.scratch != nil {
		c.Files = append(c.Files, c.shown.scratch.is.file)
	}
}

// Prepare makes a process that is not started yet that of the command. Variables beside those of Env must not be the command's.
func (c *Command) Prepare(cmd *exec.Cmd) {
	cmd.Path, cmd.Args, cmd.Env, cmd.ExtraFiles = c.Argv[0], c.Argv, append(cmd.Env, c.Env...), c.Files
}

// Entered waits, after the start, until the command has begun in its sandbox. ErrEntry: it never will; what the process says is why.
func (c *Command) Entered() error {
	if err := c.release(); err != nil {
		return err
	}
	if err := c.status.SetReadDeadline(time.Now().Add(entryTime)); err != nil {
		return fmt.Errorf("wait for the sandbox: %w", err)
	}
	word := make([]byte, len(entry.Ready))
	if _, err := io.ReadFull(c.status, word); err != nil {
		return fmt.Errorf("%w: %w", ErrEntry, err)
	}
	return nil
}

// release closes hob's copies of what the process has inherited.
func (c *Command) release() error {
	var errs []error
	for _, f := range c.Files[:min(len(c.Files), firstView-entry.Descriptor)] { // the others belong to what the box shows
		errs = append(errs, f.Close())
	}
	c.Files = nil
	return errors.Join(errs...)
}

// Close gives back what the command holds. It does not end it.
func (c *Command) Close() error {
	return errors.Join(c.release(), c.status.Close(), c.shown.release())
}
