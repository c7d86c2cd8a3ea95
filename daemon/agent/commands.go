package agent

import (
	"cmp"
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

// Commands gives the handler the slash commands that people sent, and takes the answers.
type Commands interface {
	// Command returns the oldest unserved command whose name is not in skip, false when there is none.
	Command(ctx context.Context, skip []string) (turn.Queued, bool, error)
	// CommandsSignal returns a channel that is closed at the next commit that adds a command. Call it before Command.
	CommandsSignal() <-chan struct{}
	// Reply ends a command with an answer.
	Reply(ctx context.Context, q turn.Queued, text string) error
	// Decide ends a command that answers the question with this code.
	Decide(ctx context.Context, q turn.Queued, code, answer string) error
}

// Outgoing serves the commands about messages that are not sent yet.
type Outgoing interface {
	// SetQuiet ends /quiet: messages that are not urgent are held back until the given time. A time that has passed ends the
	// quiet period.
	SetQuiet(ctx context.Context, q turn.Queued, until time.Time, text string) error
	// Cancel ends /cancel: a message that is not sent yet is dropped.
	Cancel(ctx context.Context, q turn.Queued, id int64) error
}

// Conversations serves the commands about the conversation.
type Conversations interface {
	// StartNew ends /new.
	StartNew(ctx context.Context, q turn.Queued) error
	// Clean ends /clean.
	Clean(ctx context.Context, q turn.Queued) error
	// Compact ends /compact. matters says what the summary must keep, in the owner's words.
	Compact(ctx context.Context, q turn.Queued, matters string) error
	// RunSkill turns the command into a message that opens a turn, or joins one. part is added to its text.
	RunSkill(ctx context.Context, q turn.Queued, part event.Part) error
	// Retry ends /retry.
	Retry(ctx context.Context, q turn.Queued) error
}

// Stops serves the parts of /stop that need no running turn.
type Stops interface {
	// StopParked ends all parked turns and returns their number.
	StopParked(ctx context.Context) (int, error)
	// StopChildren ends all sub-agents, and the turns that wait for one or for a call. It returns the numbers of sub-agents and of these calls.
	StopChildren(ctx context.Context) (children, calls int, err error)
}

// Reports writes the answers to /status, /queue, /jobs, /usage, /why, /capabilities and /quiet.
type Reports interface {
	Text(ctx context.Context, topic, arg string) (string, error)
}

// CommandHandler serves slash commands. It runs beside the thread, so commands are answered while a turn runs and when every
// model is down. It leaves the commands of Boundary to the thread.
type CommandHandler struct {
	Commands      Commands
	Conversations Conversations
	Stops         Stops
	Outgoing      Outgoing
	Reports       Reports
	Skills        SkillRunner                                            // nil: there are no skills
	Stop          func(id int64) int64                                   // Thread.Stop
	Use           func(ctx context.Context, name string) (string, error) // makes a model the first choice and returns the answer to /model; "" only reports the current one
	Clock         sys.Clock
	Log           *slog.Logger
}

// Boundary lists the commands that take effect between two turns. The thread serves them, through CommandHandler.Serve.
func Boundary() []string { return []string{"/new", "/clean", "/compact", "/retry", "/model"} }

// Run serves commands until ctx ends.
func (h *CommandHandler) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		wake := h.Commands.CommandsSignal()
		q, ok, err := h.Commands.Command(ctx, Boundary())
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("take a command: %w", err)
		}
		if !ok {
			select {
			case <-ctx.Done():
			case <-wake:
			}
			continue
		}
		if err := h.Serve(ctx, q); err != nil && ctx.Err() == nil {
			return fmt.Errorf("serve %s: %w", truncate(q.In.Text(), 40), err)
		}
	}
	return nil
}

// Serve answers one command of any kind. Commands from anybody but the owner are dropped.
func (h *CommandHandler) Serve(ctx context.Context, q turn.Queued) error {
	name, text := q.In.CommandName(), strings.TrimSpace(q.In.Text())
	arg := strings.TrimSpace(text[min(len(name), len(text)):])
	// An empty reply ends the row and sends nothing, so a stranger does not learn that commands exist.
	if q.In.Trust != event.Owner {
		return h.Commands.Reply(ctx, q, "")
	}
	switch name {
	case "/help":
		return h.Commands.Reply(ctx, q, helpText)
	case "/status", "/queue", "/jobs", "/usage", "/why", "/capabilities":
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
	case "/compact":
		return h.Conversations.Compact(ctx, q, arg)
	case "/retry":
		return h.Conversations.Retry(ctx, q)
	case "/model":
		return h.use(ctx, q, arg)
	}
	return h.runSkill(ctx, q, name, arg)
}

const helpText = `/status  what hob is doing      /queue   what waits
/jobs    the schedule           /usage   today's spending
/why [ID]  what caused a message (the last one, without ID)
/stop    stop the running turn  /stop all  the parked ones too
/approve CODE [turn|always]     /deny CODE     /answer CODE TEXT
/quiet 2h  hold back what is not urgent (/quiet off ends it, /quiet alone shows the state)
/cancel ID  drop a message that is not sent yet
/new     begin a new conversation     /clean   go on without text from other people or pages
/compact [WHAT MATTERS]  go on with a summary instead of the whole conversation
/retry   try the last failed message again
/model [NAME]  which model is asked first (/model default: the config's)
/capabilities  what hob can do        /SKILL [ARGS]  run one of your skills
Everything else you write goes to the agent.`

// report answers with a text of Reports.
func (h *CommandHandler) report(ctx context.Context, q turn.Queued, topic, arg string) error {
	text, err := h.Reports.Text(ctx, topic, arg)
	return h.reply(ctx, q, text, err)
}

// use serves /model. It is idempotent, because a crash may serve the command twice.
func (h *CommandHandler) use(ctx context.Context, q turn.Queued, name string) error {
	text, err := h.Use(ctx, name)
	return h.reply(ctx, q, text, err)
}

// reply ends a command with a text, or with the text of a fault.
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

// stop serves /stop: it ends the running turn and all sub-agents, and with "all" also the parked turns.
func (h *CommandHandler) stop(ctx context.Context, q turn.Queued, arg string) error {
	if arg != "" && arg != "all" {
		return h.Commands.Reply(ctx, q, "Say /stop, or /stop all.")
	}
	stopped := h.Stop(0)
	children, calls, err := h.Stops.StopChildren(ctx)
	if err != nil {
		return err
	}
	text := stoppedText(stopped, children, calls)
	if arg == "all" {
		n, err := h.Stops.StopParked(ctx)
		if err != nil {
			return err
		}
		text += fmt.Sprintf(" %s.", parked(n))
	}
	return h.Commands.Reply(ctx, q, text)
}

// stoppedText is the answer to /stop. id is the stopped turn, 0 for none.
func stoppedText(id int64, children, calls int) string {
	var what []string
	if id != 0 {
		what = append(what, fmt.Sprintf("turn %d", id))
	}
	for _, some := range []struct {
		n         int
		one, many string
	}{{children, "1 sub-agent", "sub-agents"}, {calls, "1 call that waited for its answer", "calls that waited for their answers"}} {
		switch {
		case some.n == 1:
			what = append(what, some.one)
		case some.n > 1:
			what = append(what, fmt.Sprintf("%d %s", some.n, some.many))
		}
	}
	if len(what) == 0 {
		return "Nothing is running."
	}
	return "Stopped " + strings.Join(what, " and ") + "."
}

// parked is the part of the answer to /stop all that counts the parked turns.
func parked(n int) string {
	switch n {
	case 0:
		return "No turn was parked"
	case 1:
		return "1 parked turn ended"
	}
	return fmt.Sprintf("%d parked turns ended", n)
}

// approve serves /approve CODE [once|turn|always]. Without a scope the approval is for these calls only.
func (h *CommandHandler) approve(ctx context.Context, q turn.Queued, arg string) error {
	code, scope, _ := strings.Cut(arg, " ")
	scope = strings.ToLower(strings.TrimSpace(scope))
	scope = cmp.Or(scope, turn.AnswerOnce)
	if !slices.Contains([]string{turn.AnswerOnce, turn.AnswerTurn, turn.AnswerAlways}, scope) {
		return h.Commands.Reply(ctx, q, "Say /approve CODE, /approve CODE turn or /approve CODE always.")
	}
	return h.decide(ctx, q, code, scope, "/approve CODE")
}

// decide answers a question. usage is the form of the command, for a command without a code or an answer.
func (h *CommandHandler) decide(ctx context.Context, q turn.Queued, code, answer, usage string) error {
	if code == "" || answer == "" {
		return h.Commands.Reply(ctx, q, "Say "+usage+".")
	}
	return h.Commands.Decide(ctx, q, code, answer)
}

// longestQuiet is the longest time for which /quiet may hold messages back.
const longestQuiet = 7 * 24 * time.Hour

// quiet serves /quiet. Outgoing holds the messages back; this only computes the end of the quiet period.
func (h *CommandHandler) quiet(ctx context.Context, q turn.Queued, arg string) error {
	now := h.Clock.Wall()
	switch arg {
	case "":
		return h.report(ctx, q, "quiet", "")
	case "off":
		return h.Outgoing.SetQuiet(ctx, q, now, "Quiet is off.")
	}
	length, err := time.ParseDuration(arg)
	if err != nil || length <= 0 || length > longestQuiet {
		return h.Commands.Reply(ctx, q, "Say /quiet 2h (a week at most), or /quiet off.")
	}
	return h.Outgoing.SetQuiet(ctx, q, now.Add(length), "Quiet for "+arg+": chat apps get only answers, questions and hob's own notices. The terminal gets everything.")
}

// cancel serves /cancel ID, also with a # before the ID.
func (h *CommandHandler) cancel(ctx context.Context, q turn.Queued, arg string) error {
	id, err := strconv.ParseInt(strings.TrimPrefix(arg, "#"), 10, 64)
	if err != nil {
		return h.Commands.Reply(ctx, q, "Say /cancel ID, with the number of a message that is not sent yet.")
	}
	return h.Outgoing.Cancel(ctx, q, id)
}
