package setup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/term"

	"hob/cmd/hob/cli"
	"hob/config"
	"hob/config/document"
	"hob/config/schema"
	"hob/daemon/console"
	"hob/daemon/secret"
	"hob/daemon/sys"
)

// complete checks the section and asks for missing keys until it is valid. Without somebody to ask, the first problem is the error.
func (d *sectionDraft) complete(ctx context.Context, path string, before []byte) ([]byte, error) {
	for {
		// Each round checks the whole document, as it would be written. What is asked for next comes from the
		// first problem that is left.
		next, err := document.Set(d.reference(), path, before, d.changes()...)
		var list config.Errors
		if err == nil && d.asker != nil && !d.asked {
			if err := d.offerKeys(ctx); err != nil {
				return nil, err
			}
			continue
		}
		if err == nil || !errors.As(err, &list) || len(list) == 0 {
			return next, err
		}
		k, ok := d.about(list[0])
		if !ok || d.asker == nil {
			return nil, d.mistake(list[0], k)
		}
		// A key that nobody was asked for is not a mistake: its question comes without one.
		if _, given := d.values[k.Name]; given {
			d.app.Print(d.app.Err, console.Clean(d.plain(list[0], k)))
		}
		if err := d.ask(ctx, k, false); err != nil {
			return nil, err
		}
	}
}

// offerKeys asks for the keys that a section can do without but that decide what the channel is good for. Enter leaves one out.
func (d *sectionDraft) offerKeys(ctx context.Context) error {
	d.asked = true
	for _, k := range d.part.Keys[1:] {
		if _, given := d.values[k.Name]; k.Ask && !given {
			if err := d.ask(ctx, k, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// about finds the key to ask for: a missing key that is the subject of the problem or named in its text, else the subject itself.
func (d *sectionDraft) about(p config.Problem) (k schema.Key, ok bool) {
	// A problem such as "want topic or user" names the missing keys in its text.
	words := strings.FieldsFunc(p.Text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) })
	for _, each := range d.part.Keys[1:] {
		_, given := d.values[each.Name]
		subject := p.Key == d.key(each.Name)
		if !given && (subject || slices.Contains(words, each.Name)) {
			return each, true
		}
		// The subject has a value already. It is asked for again only if no missing key explains the problem.
		if subject {
			k, ok = each, true
		}
	}
	return k, ok
}

// mistake turns a config problem into a usage error that names the flag.
func (d *sectionDraft) mistake(p config.Problem, k schema.Key) error {
	hint, flag := p.Hint, "--"+keyFlagName(nil, d.part, k)
	switch _, given := d.values[k.Name]; {
	case k.Name == "" || given || hint != "":
	case k.Secret():
		hint = fmt.Sprintf("give it by reference, such as %s %s or %s file:PATH, or on standard input, with %s -", flag, strings.Trim(k.Example, `"`), flag, flag)
	default:
		hint = "give it as " + flag
		if text := strings.Trim(k.Example, `"`); text != "" {
			hint += ", for example " + text
		}
	}
	return cli.Usage(hint, "%s", d.plain(p, k))
}

// plain is the text of a problem for somebody who gives the value here. What it says of the file does not concern them: how to write a missing
// secret into it, and the name of a secret's file that does not exist yet.
func (d *sectionDraft) plain(p config.Problem, k schema.Key) string {
	text, _, _ := strings.Cut(p.Text, "put it in the environment")
	if _, pasted := d.pasted[k.Name]; pasted {
		text = strings.ReplaceAll(text, fmt.Sprintf("the value of %q", d.values[k.Name]), "what was given")
	}
	return strings.TrimRight(text, " ,;:")
}

// ask reads a value. A secret may be pasted and is not echoed. An empty answer leaves an optional key out, and ends the command otherwise.
func (d *sectionDraft) ask(ctx context.Context, k schema.Key, optional bool) error {
	about := strings.TrimSuffix(strings.NewReplacer("`", "", "*", "").Replace(k.Doc), ".")
	if optional {
		about += "; Enter leaves it out"
	}
	if k.Type == schema.Switch {
		about += "; true or false"
	}
	ask := d.asker.ask
	if k.Secret() {
		about += "; paste it, or name it by env:NAME, file:PATH, keyring:NAME or cmd:COMMAND; it is not shown"
		ask = d.asker.secret
	}
	line, err := ask(ctx, fmt.Sprintf("%s (%s): ", k.Name, about))
	switch {
	case err == nil && line == "" && optional:
		return nil
	case err != nil && !errors.Is(err, errEnded):
		return errors.Join(err, errNothing())
	case err != nil || line == "":
		return errNothing()
	}
	// The new answer may be a reference in the place of a secret that was pasted before.
	delete(d.pasted, k.Name)
	if k.Secret() && !secret.IsReference(line) {
		return d.paste(k, line)
	}
	d.values[k.Name] = line
	return nil
}

// errNothing ends a command whose question got no answer.
func errNothing() error { return &cli.Problem{Code: cli.ExitFailed, Text: "nothing was changed"} }

// hiddenLine is a line that was read without echo.
type hiddenLine struct {
	text []byte
	err  error
}

// echoOffTimeout is how long to wait for the terminal to turn its echo off. A terminal that had no echo before never changes.
const echoOffTimeout = 200 * time.Millisecond

// Hidden reads a line without echo. An interrupt ends it and restores the terminal.
func Hidden(ctx context.Context, a *cli.App, prompt string) (string, error) {
	fd := int(a.In.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("look at the terminal: %w", err)
	}
	// ReadPassword cannot be interrupted. So another goroutine reads, and this one waits for a line, for an
	// interrupt, or for the moment at which the echo is off and the prompt may be shown.
	read := make(chan hiddenLine, 1)
	sys.NewGroup(slog.New(slog.DiscardHandler), nil).Once("read a secret", func() error { // it ends with the process where nobody types
		text, err := term.ReadPassword(fd)
		read <- hiddenLine{text, err}
		return nil
	})
	// Nothing reports a change of the terminal's state, so it is polled.
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for asked, begun := false, time.Now(); ; {
		select {
		// The Enter of the person was not echoed, so the line of the prompt is ended here.
		case line := <-read:
			a.Print(a.Err, "")
			return string(line.text), line.err
		case <-ctx.Done():
			// The reader still holds the terminal without echo; put it back before the process ends.
			return "", errors.Join(ctx.Err(), term.Restore(fd, before))
		case <-look.C:
			now, err := term.GetState(fd)
			// If the state cannot be read, the prompt is shown at once.
			if asked || err == nil && reflect.DeepEqual(now, before) && time.Since(begun) < echoOffTimeout {
				continue // the echo is still on
			}
			asked = true
			look.Stop()
			if _, err := a.Err.WriteString(prompt); err != nil {
				return "", fmt.Errorf("ask: %w", err)
			}
		}
	}
}
