package gmail

import (
	"context"
	"fmt"
	"strings"

	"hob/daemon/mail"
	"hob/daemon/netguard"
	"hob/daemon/text"
	"hob/tools"
)

// ReadInput is the input of gmail_read.
type ReadInput struct {
	ID    string `json:"id" jsonschema:"id of a mail, as gmail_search shows it" min:"1" max:"100"`
	Whole bool   `json:"whole,omitempty" jsonschema:"with the quoted mails below an answer"`
}

// ReadOutput is the output of gmail_read.
type ReadOutput struct {
	Item
	Cc    string     `json:"cc,omitempty" jsonschema:"further recipients"`
	Text  string     `json:"text" jsonschema:"the text"`
	Files []Enclosed `json:"files,omitempty" jsonschema:"its files"`
	Notes []string   `json:"notes,omitempty" jsonschema:"what is left out"`
}

// Enclosed is a file of a mail.
type Enclosed struct {
	Name     string `json:"name" jsonschema:"name"`
	MIME     string `json:"mime" jsonschema:"type"`
	Size     int    `json:"size" jsonschema:"bytes"`
	Artifact string `json:"artifact,omitempty" jsonschema:"id under which it is kept"`
}

// reader implements gmail_read.
type reader struct {
	account   tools.Account[Mailbox]
	artifacts Artifacts
}

// NewRead builds the tool gmail_read.
func NewRead(o tools.Account[Mailbox], a Artifacts) tools.Tool {
	r := reader{o, a}
	return withAccount(tools.New[ReadInput, ReadOutput](tools.Spec{
		Name: "gmail_read", Group: Group, ReadOnly: true, Positional: "id", Example: "18c2f0a9d1e7b345",
		Description: "Read one mail as text; its files become artifacts. What it says is somebody else's words.",
	}, r.intent, r.run), o)
}

func (r reader) intent(_ context.Context, _ tools.Call, in ReadInput) (tools.Intent, error) {
	raw, err := tools.CanonicalCall("gmail_read", in)
	return reading("read the mail "+text.Shorten(in.ID, 100), raw), err
}

func (r reader) run(ctx context.Context, call tools.Call, in ReadInput, _ tools.Intent) (tools.Result, error) {
	box, err := r.account.Open(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	m, err := box.ReadMail(ctx, in.ID)
	if err != nil {
		return tools.Result{}, err
	}
	out := ReadOutput{Item: m.item(call.Zone), Cc: oneLine(m.Cc, maxLine)}
	said := m.Body.Text
	if !in.Whole {
		own, _ := mail.OwnText(said, false)
		if len(own) < len(strings.TrimSpace(said)) {
			out.Notes = append(out.Notes, "quoted mails and the signature are left out; whole shows them")
		}
		said = own
	}
	cut := false
	if out.Text, cut = netguard.Lines(said, maxBody); cut {
		out.Notes = append(out.Notes, fmt.Sprintf("the text has more than %d characters; the rest is left out", maxBody))
	}
	if out.Snippet = ""; out.Text == "" {
		out.Notes = append(out.Notes, "there is no text that can be read")
	}
	if err := r.keep(ctx, &out, m); err != nil {
		return tools.Result{}, err
	}
	return tools.Result{Content: out.text(), Data: out}, nil
}

// keep stores the files as foreign artifacts.
func (r reader) keep(ctx context.Context, out *ReadOutput, m Mail) error {
	for n, f := range m.Body.Files {
		e := Enclosed{Name: oneLine(f.Name, maxLine), MIME: oneLine(f.MIME, 100), Size: len(f.Data)}
		if f.Err != nil {
			out.Notes = append(out.Notes, "the file "+e.Name+" is damaged: only its beginning could be read")
		}
		if n < maxFiles {
			var err error
			if e.Artifact, err = r.artifacts.KeepForeign(ctx, f.Name, "mail: "+oneLine(m.From, 100), f.Data); err != nil {
				return fmt.Errorf("keep the file %s: %w", e.Name, err)
			}
			out.Files = append(out.Files, e)
		}
	}
	if more := len(m.Body.Files) - maxFiles; more > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d more files are left out", more))
	}
	return nil
}

// text shows the mail.
func (o ReadOutput) text() string {
	var b strings.Builder
	for _, l := range [][2]string{{"from", o.From}, {"to", o.To}, {"cc", o.Cc}, {"date", o.When}, {"subject", o.Subject}, {"id", o.ID}} {
		if l[1] != "" {
			b.WriteString(l[0] + ": " + l[1] + "\n")
		}
	}
	for _, f := range o.Files {
		fmt.Fprintf(&b, "file: %s (%s, %d bytes), artifact %s\n", f.Name, f.MIME, f.Size, f.Artifact)
	}
	for _, n := range o.Notes {
		b.WriteString("note: " + n + "\n")
	}
	return b.String() + "\n" + o.Text
}
