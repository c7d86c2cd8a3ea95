package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"golang.org/x/sys/unix"

	"hob/daemon/sys/systest"
)

// drawn is a hob command on a pseudo-terminal whose screen an emulator draws.
type drawn struct {
	*testing.T
	cmd      *exec.Cmd
	keys     *os.File // the other end of the terminal
	mu       sync.Mutex
	more     *sync.Cond
	emulator *vt.Emulator
	writes   int // how often the command has drawn
	colors   bool
}

// onScreen starts a command on a terminal of some size.
func onScreen(t *testing.T, width, height int, env []string, args ...string) *drawn {
	t.Helper()
	cmd, screen, terminal := onTerminal(t.Context(), t, args...)
	d := &drawn{T: t, cmd: cmd, keys: screen, emulator: vt.NewEmulator(width, height)}
	d.more = sync.NewCond(&d.mu)
	d.sized(width, height)
	cmd.Env = append(os.Environ(), append([]string{"TERM=xterm-256color", "LC_ALL=C.UTF-8", "COLORTERM="}, env...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = terminal.Close()
	read := make(chan struct{})
	go func() {
		defer close(read)
		for b := make([]byte, 4096); ; {
			n, err := screen.Read(b)
			d.mu.Lock()
			_, _ = d.emulator.Write(b[:n]) // the emulator takes everything
			d.writes++
			d.more.Broadcast()
			d.mu.Unlock()
			if err != nil {
				return // the command has closed its end
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-read
	})
	return d
}

// sized sets the size of the terminal; the kernel tells the command (tty_ioctl(4)).
func (d *drawn) sized(width, height int) {
	d.Helper()
	size := &unix.Winsize{Col: uint16(width), Row: uint16(height)} //nolint:gosec // a screen of a test
	if err := unix.IoctlSetWinsize(int(d.keys.Fd()), unix.TIOCSWINSZ, size); err != nil {
		d.Fatal(err)
	}
}

// resized changes the size of the window, and waits until the command has drawn for it.
func (d *drawn) resized(width, height int) {
	d.Helper()
	d.mu.Lock()
	d.emulator.Resize(width, height)
	before := d.writes
	d.mu.Unlock()
	d.sized(width, height)
	if !d.until(func() bool { return d.writes > before }) {
		d.Fatal("nothing was drawn for the new size")
	}
}

func (d *drawn) types(keys string) {
	d.Helper()
	if _, err := d.keys.WriteString(keys); err != nil {
		d.Fatal(err)
	}
}

// varying are the parts of a screen that differ from run to run: times, how long something has run, the end of a line that is cut, and ids.
var varying = regexp.MustCompile(`\b\d\d:\d\d\b|[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏|/\\-] (\S+: .*) \d+ s\b( - Ctrl-C stops it)?|^x{3,}$|result_read \w+$`)

// shown is the screen: its text and the place of the cursor, and styles if it has any.
func (d *drawn) shown() string {
	text := d.emulator.String()
	if d.colors {
		text = strings.ReplaceAll(d.emulator.Render(), "\x1b", "␛")
	}
	lines := strings.Split(strings.ReplaceAll(text, "\r", ""), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(varying.ReplaceAllStringFunc(line, func(s string) string {
			if what := varying.FindStringSubmatch(s)[1]; what != "" {
				return "* " + what + " N s"
			}
			switch s[0] {
			case 'x':
				return "xxx"
			case 'r':
				return "result_read ID"
			}
			return "HH:MM"
		}), " ")
	}
	at := d.emulator.CursorPosition()
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + fmt.Sprintf("\n(cursor at %d,%d)\n", at.X, at.Y)
}

// wait is how long a screen is waited for.
const wait = time.Minute

// until waits until the screen is as it should be.
func (d *drawn) until(state func() bool) bool {
	late := false
	stop := time.AfterFunc(wait, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		late = true
		d.more.Broadcast()
	})
	defer stop.Stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	for !state() && !late {
		d.more.Wait()
	}
	return state()
}

// sees waits for a text on the screen.
func (d *drawn) sees(text string) {
	d.Helper()
	plain := func() string {
		lines := strings.Split(strings.ReplaceAll(d.emulator.String(), "\r", ""), "\n")
		for i := range lines {
			lines[i] = strings.TrimRight(lines[i], " ")
		}
		return strings.Join(lines, "\n")
	}
	if !d.until(func() bool { return strings.Contains(plain(), strings.TrimRight(text, " ")) }) {
		d.Fatalf("%q was not shown:\n%s", text, d.shown())
	}
}

// keeps waits for the screen that is kept. UPDATE=1 keeps the present one: look at it.
func (d *drawn) keeps(name string) {
	d.Helper()
	file := filepath.Join("testdata", "screens", name+".txt")
	if os.Getenv("UPDATE") != "" {
		<-time.After(2 * time.Second) // until nothing is drawn any more
		d.mu.Lock()
		defer d.mu.Unlock()
		if err := os.WriteFile(file, []byte(d.shown()), 0o600); err != nil {
			d.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		d.Fatal(err)
	}
	if !d.until(func() bool { return d.shown() == string(want) }) {
		d.Errorf("the screen is not %s:\n%s", file, d.shown())
	}
}

// leaves ends the conversation and checks that the terminal is as it was.
func (d *drawn) leaves() {
	d.Helper()
	d.types("\x04")
	if err := d.cmd.Wait(); err != nil {
		d.Errorf("%v:\n%s", err, d.shown())
	}
}

// TestChatScreens: the real program on terminals of three sizes. A command prints while somebody types, a reminder arrives in mid-word, the
// window is resized in mid-line.
func TestChatScreens(t *testing.T) {
	systest.Program(t, "bwrap") // without a sandbox the screens have a warning
	for name, c := range map[string]struct {
		width, height int
		env           []string
		colors        bool
	}{
		"80x24":  {80, 24, []string{"NO_COLOR=1"}, false},
		"40x20":  {40, 20, []string{"NO_COLOR=1", "LC_ALL=C"}, false},
		"200x50": {200, 50, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			home, _ := started(t)
			space := filepath.Join(home, "workspace")
			script := "printf 'one\\n\\033[2J\\033[31mtwo\\033[0m \\342\\200\\256drow\\n'\nwhile [ ! -e go ]; do sleep 0.1; done\necho three\n"
			if err := os.WriteFile(filepath.Join(space, "wait.sh"), []byte(script), 0o600); err != nil {
				t.Fatal(err)
			}
			d := onScreen(t, c.width, c.height, c.env, "chat", "--home", home)
			d.colors = c.colors
			d.sees("> ")
			d.types("say # Rooms: the **hall** and the `kitchen`, which look to the south and to the north\r")
			d.sees("\n\n>")
			d.types("run sh wait.sh\r")
			d.sees("two")
			d.types("and the gar")
			d.sees("> and the gar")
			d.keeps("chat-" + name + "-1-runs")
			out, err := exec.CommandContext(t.Context(), "hob", "cron", "add", "--home", home, "--name", "stretch", "--when", "in 1 second", "say: stand **up**").CombinedOutput()
			if err != nil {
				t.Fatalf("%s", out)
			}
			if err := os.WriteFile(filepath.Join(space, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			d.sees("stretch")
			d.sees("stand up")
			d.keeps("chat-" + name + "-2-arrived")
			d.resized(c.width-7, c.height)
			d.types("den in front of the house, which is long enough to wrap at some widths")
			d.sees("widths")
			d.keeps("chat-" + name + "-3-resized")
			d.types("\x15")
			d.leaves()
		})
	}
}

// TestHostileChat: an answer with a line of 1 MB, escape sequences and characters that turn text around changes nothing but its own block; what a
// command prints is not read as Markdown.
func TestHostileChat(t *testing.T) {
	home, _ := started(t)
	text := "\x1b[2J\x1b[1;1H\x1b]0;title\x07\x1b[?1049h\x9b2J \u202eon\u202c \u2066x\n" + strings.Repeat("x", 1<<20) + "\nend\n"
	if err := os.WriteFile(filepath.Join(home, "workspace", "hostile"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d := onScreen(t, 80, 24, []string{"NO_COLOR=1"}, "chat", "--home", home)
	d.sees("> ")
	d.types("run cat hostile\r")
	d.sees("\n\n>")
	d.types("say done\r")
	d.sees("done\n\n>")
	d.keeps("chat-hostile")
	d.types("run echo '# **as** it _is_'\r")
	d.sees("\n# **as** it _is_\n\n>")
	d.leaves()
}

// TestChatHistory: lines are there after a new start; Ctrl-R searches them, Tab completes, /sessions chooses, and what came meanwhile is shown.
func TestChatHistory(t *testing.T) {
	home, _ := started(t)
	d := onScreen(t, 80, 24, []string{"NO_COLOR=1"}, "chat", "--home", home)
	d.sees("> ")
	d.types("say apples\r")
	d.sees("apples\n\n>")
	d.types("say pears\r")
	d.sees("pears\n\n>")
	d.leaves()
	if info, err := os.Stat(filepath.Join(home, "state", "chat.history")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the history: %v, %v", info, err)
	}
	if out, err := exec.CommandContext(t.Context(), "hob", "chat", "--home", home, "--session", "plums", "say plums").CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
	d = onScreen(t, 80, 24, []string{"NO_COLOR=1"}, "chat", "--home", home)
	d.sees("> ")
	d.types("\x1b[A")
	d.sees("> say pears")
	d.types("\x15app\x12")
	d.sees("> say apples")
	d.types("\x15/sess\t")
	d.sees("> /sessions")
	d.types("\r")
	d.sees("2) ")
	d.keeps("chat-sessions")
	d.types("1\r")
	d.sees("you are now in plums")
	d.types("say cherries\r")
	d.sees("cherries\n\n>")
	d.leaves()
	out, err := exec.CommandContext(t.Context(), "hob", "sessions", "show", "plums", "--home", home).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "cherries") {
		t.Errorf("the chosen conversation has not got the line: %v\n%s", err, out)
	}
	d = onScreen(t, 80, 24, []string{"NO_COLOR=1"}, "chat", "--home", home, "--resume")
	d.sees("which conversation?")
	d.types("1\r")
	d.sees("you are now in plums")
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = d.cmd.Wait()
}

// TestNarrowStart: on a narrow terminal what is above a conversation breaks between words, as the conversation does.
func TestNarrowStart(t *testing.T) {
	home := t.TempDir()
	first := "Type help, or just: remind me in 20\nminutes to stretch\nCtrl-C stops what hob is doing; Ctrl-D\non an empty line ends hob.\n\n>"
	later := "  type help for what hob understands;\n  Ctrl-D ends hob\n>"
	for _, shown := range []string{first, later} {
		d := onScreen(t, 40, 24, []string{"NO_COLOR=1"}, "up", "--home", home, "--listen", "127.0.0.1:0")
		d.sees(shown)
		d.sees(" ms ·\nhttp://127.0.0.1:")
		d.types("say The first line of this answer is wider than the terminal\r")
		d.sees("\nThe first line of this answer is wider\nthan the terminal\n\n>")
		d.leaves()
	}
}
