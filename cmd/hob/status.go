package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/control/client"
	"hob/daemon/control/console"
)

type status struct {
	State   string    `json:"state"`
	Version string    `json:"version"`
	Home    string    `json:"home"`
	Address string    `json:"address"`
	Model   string    `json:"model"`
	Started time.Time `json:"started"`
	Thread  struct {
		State   string `json:"state"`
		Turn    int64  `json:"turn"`
		Queued  int64  `json:"queued"`
		Waiting int64  `json:"waiting"`
	} `json:"thread"`
	Questions int64 `json:"questions"`
	Channels  []struct {
		Name      string `json:"name"`
		Kind      string `json:"kind"`
		Receiving any    `json:"receiving"`
		Sending   any    `json:"sending"`
		Error     string `json:"error"`
	} `json:"channels"`
	Scheduler struct {
		Jobs    int64     `json:"jobs"`
		Next    time.Time `json:"next"`
		NextJob string    `json:"next_job"`
	} `json:"scheduler"`
	Budget   budgetRow `json:"budget"`
	Database struct {
		Bytes int64 `json:"bytes"`
	} `json:"database"`
	SafeMode struct {
		On  bool   `json:"on"`
		Why string `json:"why"`
	} `json:"safe_mode"`
	Config []string `json:"config"` // its problems
}

func statusCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show how hob is", Args: cli.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.Show(cmd.Context(), "status", "", func(raw json.RawMessage) error {
				var s status
				if err := json.Unmarshal(raw, &s); err != nil {
					return fmt.Errorf("the status is not understood: %w", err)
				}
				return a.Text(s.text())
			})
		},
	}
}

func (s status) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "hob is %s · since %s · %s\n", s.word(), console.Exact(s.Started), webAddress(s.Address))
	line := func(name, text string) { fmt.Fprintf(&b, "%-10s %s\n", name, console.OneLine(text)) }
	line("model", console.OrDash(s.Model))
	line("thread", s.thread())
	line("scheduler", s.schedule())
	if s.Questions > 0 {
		line("questions", console.Plural(s.Questions, "question")+" for you: hob approvals list")
	}
	for i, c := range s.Channels {
		name := ""
		if i == 0 {
			name = "channels"
		}
		line(name, c.Name+" "+health(c.Receiving, c.Sending, c.Error))
	}
	line("budget", s.Budget.today())
	line("database", console.Size(s.Database.Bytes))
	line("home", s.Home)
	for _, c := range s.Config {
		line("config", c)
	}
	if s.SafeMode.On {
		line("safe mode", s.SafeMode.Why+"; leave it with: hob safe-mode off")
	}
	return b.String()
}

func (s status) word() string {
	if s.State == "safe-mode" {
		return "in safe mode"
	}
	return s.State
}

func (s status) thread() string {
	text := console.OrDash(s.Thread.State)
	if s.Thread.Turn != 0 {
		text += fmt.Sprintf(" with turn %d", s.Thread.Turn)
	}
	return text + fmt.Sprintf(" · %d queued · %d waiting", s.Thread.Queued, s.Thread.Waiting)
}

func (s status) schedule() string {
	text := console.Plural(s.Scheduler.Jobs, "job")
	if !s.Scheduler.Next.IsZero() {
		text += fmt.Sprintf(" · next %s at %s", s.Scheduler.NextJob, console.Exact(s.Scheduler.Next))
	}
	return text
}

// health says how a channel does; receiving and sending are a word or yes and no.
func health(receiving, sending any, fault string) string {
	text := "receiving " + healthWord(receiving) + " · sending " + healthWord(sending)
	if fault != "" {
		text += " · " + fault
	}
	return text
}

func healthWord(v any) string {
	switch x := v.(type) {
	case bool:
		return map[bool]string{true: "ok", false: "broken"}[x]
	case string:
		return x
	case map[string]any:
		state, _ := x["state"].(string)
		if fault, _ := x["last_error"].(string); fault != "" && state != "ok" {
			return state + " (" + fault + ")"
		}
		return console.OrDash(state)
	}
	return "-"
}

func webAddress(addr string) string {
	if addr == "" || strings.Contains(addr, "://") {
		return addr
	}
	return "http://" + addr
}

// showState is hob without a command: how it is, and what to do next.
func showState(ctx context.Context, a *cli.App) error {
	c, err := a.Client(ctx)
	if errors.Is(err, client.ErrNoDaemon) {
		if a.JSON {
			return a.Document(map[string]string{"state": "stopped", "next": "hob up"})
		}
		a.Say("hob is not running\nstart it with: hob up\nall commands: hob help")
		return nil
	}
	if err != nil {
		return err
	}
	var s status
	if err := c.Show(ctx, "status", "", &s); err != nil {
		return err
	}
	if a.JSON {
		return a.Document(map[string]string{"state": s.State, "next": s.next()})
	}
	a.Say("hob is %s · %s · %s\nnext: %s\nall commands: hob help", s.word(), s.thread(), s.schedule(), s.next())
	return nil
}

// next is the command that makes most sense now.
func (s status) next() string {
	switch {
	case s.SafeMode.On:
		return "hob safe-mode"
	case s.Questions > 0:
		return "hob approvals list"
	case s.State == "degraded":
		return "hob status"
	}
	return "hob chat"
}

func safeModeCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "safe-mode", Short: "Show whether hob is in safe mode", Args: cli.NoSuch,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.Client(cmd.Context())
			if err != nil {
				return err
			}
			var s status
			if err := c.Show(cmd.Context(), "status", "", &s); err != nil {
				return err
			}
			if a.JSON {
				return a.Document(s.SafeMode)
			}
			if !s.SafeMode.On {
				a.Say("safe mode is off")
				return nil
			}
			a.Say("safe mode is on: %s\nleave it with: hob safe-mode off", s.SafeMode.Why)
			return nil
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use: "off", Short: "Leave safe mode", Args: cli.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.Act(cmd.Context(), "safe-mode", "", "off", nil, "safe mode is off")
		},
	})
	return cmd
}
