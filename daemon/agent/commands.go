package agent

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/sys"
)

// Commands gives the desk what people asked for with a slash, and takes the answers.
type Commands interface {
	// Command is the oldest unserved command that is none of skip. False: there is none.
	Command(ctx context.Context, skip []string) (turn.Queued, bool, error)
	// CommandsSignal is closed at the next commit that adds a command. Get it before Command.
	CommandsSignal() <-chan struct{}
	// Reply ends a command with a text.
	Reply(ctx context.Context, q turn.Queued, text string) error
	// Decide ends a command that answers the question of a code.
	Decide(ctx context.Context, q turn.Queued, code, answer string) error
}

// Outgoing is what the commands about messages on their way out change.
type Outgoing interface {
	// Hush ends /quiet: what does not hurry is held back until then; a time that is not ahead ends the quiet.
	SetQuiet(ctx context.Context, q turn.Queued, until time.Time, text string) error
	// Cancel ends /cancel: a message that has not been sent is dropped.
	Cancel(ctx context.Context, q turn.Queued, id int64) error
}

// Conversations are what the commands at a turn's boundary change.
type Conversations interface {
	// Fresh ends /new.
	StartNew(ctx context.Context, q turn.Queued) error
	// Clean ends /clean.
	Clean(ctx context.Context, q turn.Queued) error
	// Again ends /retry.
	Retry(ctx context.Context, q turn.Queued) error
	// StopParked ends all parked turns and returns how many.
	StopParked(ctx context.Context) (int, error)
	// StopChildren ends all sub-agents and the turns that are parked for one, and returns how many sub-agents that were.
	StopChildren(ctx context.Context) (int, error)
}

// Board writes the short texts that /status, /queue, /jobs, /usage, /why and /quiet answer with.
type Reports interface {
	Text(ctx context.Context, topic, arg string) (string, error)
}

// Desk is the control goroutine: it serves instant commands at once, also while a turn runs and with every model down.
type CommandHandler struct {
	Commands      Commands
	Conversations Conversations
	Outgoing      Outgoing
	Reports       Reports
	Stop          func(id int64) int64                                   // of the running turn; Thread.Stop
	Use           func(ctx context.Context, name string) (string, error) // asks another model first and says so; "" says which one is asked now
	Clock         sys.Clock
	Log           *slog.Logger
}

// Boundary names the commands that take effect between two turns; the thread serves them.
func Boundary() []string { return []string{"/new", "/clean", "/retry", "/model"} }

// Run serves commands until ctx ends.
func (h *CommandHandler) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		bell := h.Commands.CommandsSignal()
		q, ok, err := h.Commands.Command(ctx, Boundary())
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("take a command: %w", err)
		}
		if !ok {
			select {
			case <-ctx.Done():
			case <-bell:
			}
			continue
		}
		if err := h.Serve(ctx, q); err != nil && ctx.Err() == nil {
			return fmt.Errorf("serve %s: %w", cut(q.In.Text(), 40), err)
		}
	}
	return nil
}

// Serve answers one command, instant or not.
func (h *CommandHandler) Serve(ctx context.Context, q turn.Queued) error {
	name, text := q.In.Word(), strings.TrimSpace(q.In.Text())
	arg := strings.TrimSpace(text[min(len(name), len(text)):])
	if q.In.Trust != event.Owner {
		return h.Commands.Reply(ctx, q, "")
	}
	switch name {
	case "/help":
		return h.Commands.Reply(ctx, q, helpText)
	case "/status", "/queue", "/jobs", "/usage", "/why":
		return h.report(ctx, q, name[1:], arg)
	case "/stop":
		return h.stop(ctx, q, arg)
	case "/approve":
		return h.approve(ctx, q, arg)
	case "/deny":
		return h.decide(ctx, q, arg, turn.AnswerNo, "/deny CODE")
	case "/answer":
		code, text, _ := strings.Cut(arg, " ")
		return h.decide(ctx, q, code, strings.TrimSpace(text), "/answer CODE TEXT")
	case "/quiet":
		return h.quiet(ctx, q, arg)
	case "/cancel":
		return h.cancel(ctx, q, arg)
	case "/new":
		return h.Conversations.StartNew(ctx, q)
	case "/clean":
		return h.Conversations.Clean(ctx, q)
	case "/retry":
		return h.Conversations.Retry(ctx, q)
	case "/model":
		return h.use(ctx, q, arg)
	default:
		return h.Commands.Reply(ctx, q, fmt.Sprintf("There is no command %s. /help lists them.", cut(name, 40)))
	}
}

const helpText = `/status  what hob is doing      /queue   what waits
/jobs    the schedule           /usage   today's spending
/why [ID]  what caused a message (the last one, without ID)
/stop    stop the running turn  /stop all  the parked ones too
/approve CODE [turn|always]     /deny CODE     /answer CODE TEXT
/quiet 2h  hold back what does not hurry (/quiet off ends it, /quiet alone says how it is)
/cancel ID  stop a message that is not sent yet
/new     begin a new conversation     /clean   go on without what came from elsewhere
/retry   try the last failed message again
/model [NAME]  which model is asked first (/model default: the config's)
Everything else you write goes to the agent.`

func (h *CommandHandler) report(ctx context.Context, q turn.Queued, topic, arg string) error {
	text, err := h.Reports.Text(ctx, topic, arg)
	return h.reply(ctx, q, text, err)
}

// use serves /model. Done twice, after a crash in between, it comes to the same.
func (h *CommandHandler) use(ctx context.Context, q turn.Queued, name string) error {
	text, err := h.Use(ctx, name)
	return h.reply(ctx, q, text, err)
}

// reply ends a command with a text, or with the sentence of a fault.
func (h *CommandHandler) reply(ctx context.Context, q turn.Queued, text string, err error) error {
	if f, ok := event.AsFault(err); ok {
		text, err = f.Text, nil
		if f.Hint != "" {
			text += " (" + f.Hint + ")"
		}
	}
	if err != nil {
		return err
	}
	return h.Commands.Reply(ctx, q, text)
}

func (h *CommandHandler) stop(ctx context.Context, q turn.Queued, arg string) error {
	if arg != "" && arg != "all" {
		return h.Commands.Reply(ctx, q, "Say /stop, or /stop all.")
	}
	stopped := h.Stop(0)
	children, err := h.Conversations.StopChildren(ctx)
	if err != nil {
		return err
	}
	text := stoppedText(stopped, children)
	if arg == "all" {
		n, err := h.Conversations.StopParked(ctx)
		if err != nil {
			return err
		}
		text += fmt.Sprintf(" %s.", parked(n))
	}
	return h.Commands.Reply(ctx, q, text)
}

func stoppedText(id int64, children int) string {
	kin := ""
	switch {
	case children == 1:
		kin = "1 sub-agent"
	case children > 1:
		kin = fmt.Sprintf("%d sub-agents", children)
	}
	switch {
	case id == 0 && kin == "":
		return "Nothing is running."
	case id == 0:
		return "Stopped " + kin + "."
	case kin == "":
		return fmt.Sprintf("Stopped turn %d.", id)
	default:
		return fmt.Sprintf("Stopped turn %d and %s.", id, kin)
	}
}

func parked(n int) string {
	switch n {
	case 0:
		return "No turn was parked"
	case 1:
		return "1 parked turn ended"
	default:
		return fmt.Sprintf("%d parked turns ended", n)
	}
}

func (h *CommandHandler) approve(ctx context.Context, q turn.Queued, arg string) error {
	code, scope, _ := strings.Cut(arg, " ")
	scope = strings.ToLower(strings.TrimSpace(scope))
	if scope == "" {
		scope = turn.AnswerOnce
	}
	if !slices.Contains([]string{turn.AnswerOnce, turn.AnswerTurn, turn.AnswerAlways}, scope) {
		return h.Commands.Reply(ctx, q, "Say /approve CODE, /approve CODE turn or /approve CODE always.")
	}
	return h.decide(ctx, q, code, scope, "/approve CODE")
}

func (h *CommandHandler) decide(ctx context.Context, q turn.Queued, code, answer, usage string) error {
	if code == "" || answer == "" {
		return h.Commands.Reply(ctx, q, "Say "+usage+".")
	}
	return h.Commands.Decide(ctx, q, code, answer)
}

// The longest that /quiet may hold messages back.
const longestQuiet = 7 * 24 * time.Hour

func (h *CommandHandler) quiet(ctx context.Context, q turn.Queued, arg string) error {
	now := h.Clock.Wall()
	switch arg {
	case "":
		return h.report(ctx, q, "quiet", "")
	case "off":
		return h.Outgoing.SetQuiet(ctx, q, now, "I speak again.")
	}
	length, err := time.ParseDuration(arg)
	if err != nil || length <= 0 || length > longestQuiet {
		return h.Commands.Reply(ctx, q, "Say /quiet 2h (a week at most), or /quiet off.")
	}
	return h.Outgoing.SetQuiet(ctx, q, now.Add(length), "Quiet for "+length.String()+": only answers and questions come through.")
}

func (h *CommandHandler) cancel(ctx context.Context, q turn.Queued, arg string) error {
	id, err := strconv.ParseInt(strings.TrimPrefix(arg, "#"), 10, 64)
	if err != nil {
		return h.Commands.Reply(ctx, q, "Say /cancel ID, with the number of a message that is not sent yet.")
	}
	return h.Outgoing.Cancel(ctx, q, id)
}
