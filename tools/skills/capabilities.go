package skills

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/tools"
)

// capabilitiesFile is the file in the workspace that the prompt of the owner's turns holds.
const capabilitiesFile = "CAPABILITIES.md"

// maxCapabilities limits what a model may write, in bytes.
const maxCapabilities = 6_000

// Facts gives what the summary is made of: hob's own tools, and the skills that the owner has accepted.
type Facts struct {
	Guard  *fsguard.Guard
	Specs  func() []tools.Spec
	Skills Accepted
}

// theme describes the purpose of a group of tools without naming any of them.
type theme struct{ groups, title, text string }

// themes are the parts of the summary, in order. A test keeps them free of the names of tools.
func themes() []theme {
	return []theme{
		{"fs", "Files and folders", "Opens text, PDF, Word documents, notebooks and pictures; makes new files and changes existing ones, several in one go, and shows what changed."},
		{"search", "Finding things", "Looks for names and for text in whole trees of files."},
		{"runtime", "Programs", "Runs commands in a sandbox or on machines of the owner, also in the background, and follows what they print."},
		{"web", "The web", "Fetches pages as plain text, looks things up, and talks to programs' interfaces over HTTPS."},
		{"automation", "Acting by itself", "Does chores at set times, or when files change."},
		{"messaging", "Talking to people", "Sends texts and files over the owner's channels, and puts questions to the owner with buttons."},
		{"memory", "Remembering", "Keeps notes, and finds again what was said and noted before."},
		{"sessions", "Conversations and helpers", "Looks into other conversations, and lets helpers work side by side that only look and never change anything."},
		{"work", "Work in steps", "Keeps lists of what is to be done, and works off chores that wait for each other."},
		{"mcp", "Programs of others", "Uses programs and services that the owner has plugged in, after he has accepted what they offer."},
		{"calendar", "Calendar", "Looks into the owner's calendars and adds events; it asks before it invites anybody."},
		{"spending", "Spending at Anthropic", "Reads what the owner's organization has used of the models of Anthropic, and what that cost."},
		{"mail", "Mail", "Searches and reads the owner's mail and sends mail from the owner's address."},
		{"linkedin", "Job offers", "Looks for public offers of work at LinkedIn and reads them."},
		{"skills", "Skills", "Follows instructions that the owner has accepted."},
	}
}

// Summary returns the summary that needs no model. It contains only hob's own words and the names of accepted skills.
func (f Facts) Summary() string {
	var b strings.Builder
	b.WriteString("# What hob can do here\n")
	have := map[string]bool{}
	for _, s := range f.Specs() {
		have[s.Group] = true
	}
	for _, t := range themes() {
		if !have[t.groups] {
			continue
		}
		names := ""
		if t.groups == "skills" {
			if names = f.names(); names == "" {
				continue
			}
			names = " Accepted: " + names + "." // one or several
		}
		fmt.Fprintf(&b, "\n## %s\n%s%s\n", t.title, t.text, names)
	}
	b.WriteString("\nWhat changes something outside may need the owner's approval first.\n")
	return b.String()
}

// names lists the accepted skills.
func (f Facts) names() string {
	var names []string
	for _, s := range f.Skills.Accepted() {
		names = append(names, s.Name)
	}
	rest := ""
	if n := len(names) - 50; n > 0 {
		names, rest = names[:50], fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(names, ", ") + rest
}

// Refresh writes the summary to the workspace and returns it.
func (f Facts) Refresh() (string, error) {
	text := f.Summary()
	return text, f.write(text)
}

// Text returns the file; "" if there is none.
func (f Facts) Text() (string, error) {
	text, at, err := fsguard.Text(f.Guard, f.path(), 64<<10)
	if !at.Exists() {
		return "", nil
	}
	return strings.ToValidUTF8(string(text), "\uFFFD"), err
}

func (f Facts) path() string { return filepath.Join(f.Guard.Workspace(), capabilitiesFile) }

func (f Facts) write(text string) error {
	p, err := f.Guard.Resolve("", f.path())
	if err != nil {
		return err
	}
	if p.Path != f.path() {
		return event.NewFault(event.Clash, "put a real file there, or remove it", "%s is a symbolic link: it is not written", f.path())
	}
	_, err = f.Guard.WriteFile(p, []byte(text), 0o600)
	return err
}

// RefreshInput is the input of capabilities_refresh, which takes nothing.
type RefreshInput struct{}

// RefreshOutput is the output of capabilities_refresh.
type RefreshOutput struct {
	Path string `json:"path" jsonschema:"the file"`
	Text string `json:"text" jsonschema:"what it says"`
}

// NewRefresh builds the tool capabilities_refresh. It writes the summary that needs no model; in a turn, a model then rewrites it.
func NewRefresh(f Facts) tools.Tool {
	return tools.New[RefreshInput, RefreshOutput](tools.Spec{
		Name: "capabilities_refresh", Group: group,
		Description: "Write a summary of what hob can do to CAPABILITIES.md, which your instructions hold from the next conversation on.",
	}, f.intent, f.run)
}

func (f Facts) intent(_ context.Context, call tools.Call, _ RefreshInput) (tools.Intent, error) {
	p, err := f.Guard.Resolve("", f.path())
	if err != nil {
		return tools.Intent{}, tools.RefusePath(f.Guard, call, capabilitiesFile, err)
	}
	raw, err := tools.Canonical(struct {
		Tool string `json:"tool"`
		Path string `json:"path"`
		Text string `json:"text"`
	}{"capabilities_refresh", p.Path, f.Summary()})
	return tools.Intent{
		Effect: tools.Keyed, Scopes: []tools.Scope{tools.FSWrite}, Paths: []tools.Path{tools.PathOf(p, true)},
		Summary: "write " + capabilitiesFile, Canonical: raw,
	}, err
}

// assistPrompt asks a model to rewrite the summary. The summary is hob's own text.
const assistPrompt = `Write a short summary in Markdown of what this assistant can do, by themes with a heading each, for the assistant's own instructions. Keep every theme and every name of a skill. Name no tool, add nothing, at most 400 words.`

func (f Facts) run(_ context.Context, call tools.Call, _ RefreshInput, _ tools.Intent) (tools.Result, error) {
	text, err := f.Refresh()
	if err != nil {
		return tools.Result{}, err
	}
	done := tools.Result{Content: "wrote " + capabilitiesFile + ":\n" + text, Data: RefreshOutput{f.path(), text}}
	if call.Turn == 0 || call.Tainted {
		return done, nil
	}
	done.Assist = &tools.Assist{Prompt: assistPrompt, Text: text, Without: done.Content, Use: func(said string) (string, error) {
		said = strings.TrimSpace(said) + "\n"
		if err := f.acceptable(said); err != nil {
			return "", err
		}
		return "wrote " + capabilitiesFile + ":\n" + said, f.write(said)
	}}
	return done, nil
}

// acceptable returns why a model's summary cannot be used. The summary that needs no model then stays.
func (f Facts) acceptable(text string) error {
	switch {
	case len(text) > maxCapabilities || !utf8.ValidString(text):
		return fmt.Errorf("the summary has more than %d bytes, or is no text", maxCapabilities)
	case strings.ContainsFunc(text, func(c rune) bool { return c != '\n' && !unicode.IsPrint(c) }):
		return errors.New("the summary holds invisible characters")
	}
	for _, s := range f.Specs() {
		if strings.Contains(s.Name, "_") && Names(text, s.Name) {
			return fmt.Errorf("the summary names the tool %s", s.Name)
		}
	}
	for _, s := range f.Skills.Accepted() {
		if !strings.Contains(text, s.Name) {
			return fmt.Errorf("the summary leaves out the skill %s", s.Name)
		}
	}
	return nil
}

// Names reports whether a text holds the name of a tool as a word.
func Names(text, tool string) bool {
	words := regexp.MustCompile(`[A-Za-z0-9_]+`).FindAllString(text, -1)
	return slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, tool) })
}
