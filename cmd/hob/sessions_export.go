package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/console"
)

// The formats of hob sessions export.
const (
	formatLines    = "jsonl"
	formatMarkdown = "md"
)

// exportCommand makes hob sessions export.
func exportCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "export SESSION", Short: "Print all of a conversation, for other programs or as Markdown", Args: cli.Exactly(1, "one SESSION"), ValidArgsFunction: cli.Complete(a, api.Sessions),
		Long: "Print all items of a conversation. jsonl has one JSON object on each line. md is for people: who said what and when, with a line for each call of a tool.\n" +
			"There, the text of others, and what hob wrote after reading it, is in blocks in which nothing is a link or a picture.",
		Example: "  hob sessions export garden > garden.jsonl\n  hob sessions export --format md garden > garden.md",
	}
	format := cmd.Flags().String("format", formatLines, "jsonl or md")
	cli.CompleteFlag(cmd, "format", cli.Words(formatLines, formatMarkdown))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch *format {
		case formatLines:
			return exportLines(cmd.Context(), a, args[0])
		case formatMarkdown:
			return cli.ShowRow(cmd.Context(), a, api.ShowSession, args[0], func(s api.SessionDetail, _ json.RawMessage, clock cli.Clock) error {
				ends, err := unanswered(cmd.Context(), a, s)
				if err != nil {
					return err
				}
				return a.Text(console.Clean(markdown(s, ends, clock)))
			})
		}
		return cli.Usage("the formats are: jsonl, md", "there is no format %q", *format)
	}
	return cmd
}

// exportLines prints the items of a transcript as the daemon wrote them, one on each line, for other
// programs. With --json it is one document, like any other command.
func exportLines(ctx context.Context, a *cli.App, key string) error {
	type transcript struct {
		Items []json.RawMessage `json:"transcript"`
	}
	return cli.ShowRow(ctx, a, api.Show[transcript](api.ShowSession), key, func(s transcript, _ json.RawMessage, _ cli.Clock) error {
		for _, item := range s.Items {
			if err := a.Document(item); err != nil {
				return err
			}
		}
		return nil
	})
}

// Lengths of what a line about a call shows, in characters.
const (
	argsShown   = 300
	resultShown = 120
)

// markdown writes a conversation for people, in CommonMark. Each text is a block quote of its own, so that nothing in it, such as an open code block, reaches what
// follows it. Foreign text is a code block in the quote: no reader of Markdown makes anything of it. ends is the result of unanswered.
func markdown(s api.SessionDetail, ends map[int]string, clock cli.Clock) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Conversation %s\n\n%s, %s, since %s\n", codeSpan(s.Key, argsShown), sessionState(s.Session), console.Plural(s.Turns, "turn"), clock(s.Created))
	results := map[string]api.Item{}
	for _, i := range s.Transcript {
		if i.Kind == "result" {
			results[i.CallID] = i
		}
	}
	called := false // the lines of calls that follow each other are one list
	for n, i := range s.Transcript {
		if i.Kind == "call" {
			if !called {
				b.WriteString("\n")
			}
			b.WriteString(callLine(i, results))
		}
		called = i.Kind == "call" || i.Kind == "result" && called
		if text := strings.TrimSpace(i.Text); text != "" && i.Kind != "call" && i.Kind != "result" && i.Kind != "reasoning" {
			fmt.Fprintf(&b, "\n%s\n\n%s", speaker(i, clock), blockQuote(text, i.Foreign))
		}
		if end := ends[n]; end != "" {
			fmt.Fprintf(&b, "\n(%s)\n", codeSpan(end, argsShown))
			called = false
		}
	}
	return b.String()
}

// speaker is the line above a text.
func speaker(i api.Item, clock cli.Clock) string {
	who := "hob"
	switch i.Kind {
	case "input":
		who = codeSpan(cmp.Or(i.Sender, i.Source), argsShown) // its sender chose it
	case "summary":
		who = "hob, a summary of what stands above"
	case "note":
		who = "hob, a note for itself"
	}
	line := fmt.Sprintf("**%s** · %s", who, clock(i.At))
	if i.Foreign {
		line += " · foreign text"
	}
	return line
}

// callLine folds a call and its result into an item of a list.
func callLine(i api.Item, results map[string]api.Item) string {
	line := "- called " + codeSpan(strings.TrimSpace(i.Tool+" "+i.Args), argsShown)
	r, ended := results[i.CallID]
	switch {
	case !ended:
		return line + ", which has no result\n"
	case r.IsError:
		line += ", which failed"
	}
	if text := strings.TrimSpace(r.Text); text != "" {
		line += fmt.Sprintf(": %s (%s)", codeSpan(text, resultShown), console.Plural(len(r.Text), "byte"))
	}
	return line + "\n"
}

// codeSpan writes a text, cut to n characters, as code in a line: nothing in it is markup (CommonMark 0.31, section 6.1).
func codeSpan(text string, n int) string {
	text = console.OneLine(text)
	if all := []rune(text); len(all) > n {
		text = string(all[:n]) + "…"
	}
	marks := strings.Repeat("`", backticks(text)+1)
	return marks + " " + text + " " + marks
}

// blockQuote quotes a text. A foreign one is a code block, with a fence that does not occur in it (CommonMark 0.31, section 4.5).
func blockQuote(text string, foreign bool) string {
	text = console.Clean(text)
	if foreign {
		fence := strings.Repeat("`", max(3, backticks(text)+1))
		text = fence + "text\n" + text + "\n" + fence
	}
	return "> " + strings.ReplaceAll(text, "\n", "\n> ") + "\n"
}

// backticks is the length of the longest run of backticks in a text.
func backticks(text string) (longest int) {
	for run := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '`' }) {
		longest = max(longest, len(run))
	}
	return longest
}
