package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
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

// complete checks the section and asks for missing keys until it is valid. Without a terminal the first problem is the error.
func (d *sectionDraft) complete(ctx context.Context, path string, before []byte) ([]byte, error) {
	for {
		// Each round checks the whole document, as it would be written. What is asked for next comes from the
		// first problem that is left.
		next, err := document.Set(d.ref, path, before, d.changes()...)
		var list config.Errors
		if err == nil || !errors.As(err, &list) || len(list) == 0 {
			return next, err
		}
		k, ok := d.about(list[0])
		if !ok || d.app.JSON || !cli.IsTerminal(d.app.In) || !cli.IsTerminal(d.app.Err) {
			return nil, d.mistake(list[0], k)
		}
		d.app.Print(d.app.Err, console.Clean(list[0].Text))
		if err := d.ask(ctx, k); err != nil {
			return nil, err
		}
	}
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
	hint := p.Hint
	if _, given := d.values[k.Name]; k.Name != "" && !given && hint == "" {
		hint = "give it as --" + keyFlagName(nil, d.part, k)
		if text := strings.Trim(k.Example, `"`); text != "" {
			hint += ", for example " + text
		}
	}
	return cli.Usage(hint, "%s", p.Text)
}

// ask reads a value from the terminal. A secret may be pasted and is not echoed.
func (d *sectionDraft) ask(ctx context.Context, k schema.Key) error {
	if err := d.app.RestoreTerminal(); err != nil {
		return err
	}
	doc := strings.TrimSuffix(strings.ReplaceAll(k.Doc, "`", ""), ".")
	var line string
	var err error
	if k.Secret() {
		line, err = d.hidden(ctx, fmt.Sprintf("%s (%s; paste it, or name it by env:NAME, file:PATH, keyring:NAME or cmd:COMMAND; it is not shown): ", k.Name, doc))
	} else {
		line, err = console.NewPrompter(d.app.In, d.app.Err, slog.New(slog.DiscardHandler)).Ask(ctx, fmt.Sprintf("%s (%s): ", k.Name, doc))
	}
	line = strings.TrimSpace(line)
	if err != nil || line == "" {
		d.app.Print(d.app.Err, "") // end the line of the prompt
		return &cli.Problem{Code: cli.ExitFailed, Text: "nothing was changed"}
	}
	// The new answer may be a reference in the place of a secret that was pasted before.
	delete(d.pasted, k.Name)
	if k.Secret() && !secret.IsReference(line) {
		return d.paste(k, line)
	}
	d.values[k.Name] = line
	return nil
}

// hiddenLine is a line that was read without echo.
type hiddenLine struct {
	text []byte
	err  error
}

// echoOffTimeout is how long to wait for the terminal to turn its echo off. A terminal that had no echo before never changes.
const echoOffTimeout = 200 * time.Millisecond

// hidden reads a line without echo. An interrupt ends it and restores the terminal.
func (d *sectionDraft) hidden(ctx context.Context, prompt string) (string, error) {
	fd := int(d.app.In.Fd())
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
			d.app.Print(d.app.Err, "")
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
			if _, err := d.app.Err.WriteString(prompt); err != nil {
				return "", fmt.Errorf("ask: %w", err)
			}
		}
	}
}

// secretsFolder holds pasted secrets, below the home.
const secretsFolder = "secrets"

// keep writes pasted secrets into new files with mode 0600 and sets the keys to references to them.
func (d *sectionDraft) keep(home string) error {
	for key, text := range d.pasted {
		name, err := keepSecret(home, d.name+"-"+key, text)
		if err != nil {
			return err
		}
		d.values[key] = "file:" + name
		d.app.Note("the secret is in " + filepath.Join(home, name))
	}
	return nil
}

// keepSecret writes a secret into a new file, and returns its path within the home.
func keepSecret(home, name, text string) (string, error) {
	folder := filepath.Join(home, secretsFolder)
	err := os.MkdirAll(folder, 0o700)
	if err == nil {
		name, err = createUnused(folder, name, text+"\n")
	}
	if err != nil {
		return "", fmt.Errorf("keep a secret: %w", err)
	}
	return secretsFolder + "/" + name, nil
}

// createUnused writes a file under a new name, adding a number if the name is taken, and returns the name. An
// older secret of a channel with the same name stays: something else may still refer to it.
func createUnused(folder, name, text string) (string, error) {
	for n := 1; ; n++ {
		free := name
		if n > 1 {
			free = fmt.Sprintf("%s-%d", name, n)
		}
		// O_EXCL makes the check and the creation one step, so two commands never share a file.
		f, err := os.OpenFile(filepath.Join(folder, free), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		// Sync before the name is used: after a crash the config must not refer to an empty file.
		_, err = f.WriteString(text)
		return free, errors.Join(err, f.Sync(), f.Close())
	}
}
