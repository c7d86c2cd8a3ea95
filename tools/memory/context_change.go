package memory

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"hob/tools"
)

// ContextWriteInput is the input of context_write.
type ContextWriteInput struct {
	Drive      string `json:"drive" jsonschema:"agent (free paths), url or disk" enum:"agent,url,disk"`
	Path       string `json:"path" jsonschema:"projects/garden, an address, or a file" min:"1" max:"2000"`
	Content    string `json:"content" jsonschema:"text to keep; url, disk: empty until context_refresh"`
	OnConflict string `json:"on_conflict,omitempty" jsonschema:"if it is there: default error" enum:"error,overwrite" default:"error"`
}

// ContextOutput is the output of the tools that change a context item.
type ContextOutput struct {
	Drive   string `json:"drive" jsonschema:"its drive"`
	Path    string `json:"path" jsonschema:"its path, in the form in which it is kept"`
	Bytes   int    `json:"bytes" jsonschema:"size of its text"`
	Created bool   `json:"created" jsonschema:"false: it had a text"`
	Foreign string `json:"foreign,omitempty" jsonschema:"why it counts as somebody else's text"`
}

func (s items) newWrite() tools.Tool {
	return tools.New[ContextWriteInput, ContextOutput](tools.Spec{
		Name: "context_write", Group: "memory", Positional: "path", Example: "projects/garden --drive agent --content 'tomatoes: row 3'",
		Description: "Keep a text as a context item, by drive and path, for later conversations.",
	}, func(ctx context.Context, call tools.Call, in ContextWriteInput) (tools.Intent, error) {
		n, _, err := s.writable(ctx, call, in)
		if err != nil {
			return tools.Intent{}, err
		}
		in.Path = n.Path
		summary := fmt.Sprintf("keep the context item %s (%s)", n, count(len(in.Content), "byte"))
		if in.OnConflict == "overwrite" {
			summary += ", in place of what is there"
		}
		return meant(tools.Keyed, "context_write", summary, in)
	}, func(ctx context.Context, call tools.Call, in ContextWriteInput, _ tools.Intent) (tools.Result, error) {
		n, was, err := s.writable(ctx, call, in)
		if err != nil {
			return tools.Result{}, err
		}
		return kept(call, tools.PutContext{Drive: n.Drive, Path: n.Path, Content: in.Content, Only: in.OnConflict != "overwrite" && was.Path == ""}, was), nil
	})
}

// writable checks the input of context_write. was is the item that it would replace, without a path if there is none. An empty item may be
// overwritten.
func (s items) writable(ctx context.Context, call tools.Call, in ContextWriteInput) (n ItemName, was tools.ContextItem, err error) {
	if len(in.Content) > mostOfItem {
		return n, was, tools.Refuse(tools.Validation, "write it to a file, and keep an item of the drive disk that says what is in it", "content: it has %d bytes, and an item holds at most %d", len(in.Content), mostOfItem)
	}
	if err := s.Facts.refused("content", in.Content); err != nil {
		return n, was, err
	}
	if n, err = s.checked(call, ItemName{in.Drive, in.Path}); err != nil {
		return n, was, err
	}
	if in.Drive == driveAgent && strings.TrimSpace(in.Content) == "" {
		return n, was, tools.Refuse(tools.Validation, "give it a text; context_delete (hob context rm) removes an item", "content: there is nothing to keep in it")
	}
	was, there, err := s.Items.ContextItem(ctx, n.Drive, n.Path)
	if err != nil || !there || was.Bytes == 0 || in.OnConflict == "overwrite" {
		return n, was, err
	}
	what, hint := fmt.Sprintf("with %s", count(was.Bytes, "byte")), "overwrite replaces it (on_conflict, --overwrite)"
	if was.Content == in.Content {
		what, hint = "with the same text", "there is nothing to do"
	}
	return n, was, tools.Refuse(tools.Conflict, hint, "%s is there already, %s", n, what)
}

// kept returns the result of a call that writes an item. The store writes the item in the commit of the result.
// was is the item as it was before.
func kept(call tools.Call, c tools.PutContext, was tools.ContextItem) tools.Result {
	switch {
	case call.Tainted:
		c.Tainted, c.Foreign = true, cmp.Or(c.Foreign, "written by a turn that had read foreign text")
	case call.Limited:
		c.Tainted, c.Foreign = true, cmp.Or(c.Foreign, "written by a run with limits")
	}
	out := ContextOutput{Drive: c.Drive, Path: c.Path, Bytes: len(c.Content), Created: was.Bytes == 0, Foreign: c.Foreign}
	verb := "kept "
	if was.Bytes > 0 {
		verb = "replaced "
	}
	text := fmt.Sprintf("%s%s (%s)", verb, ItemName{c.Drive, c.Path}, count(out.Bytes, "byte"))
	if out.Bytes == 0 {
		text += "; context_refresh reads it"
	}
	return tools.Result{Content: text, Data: out, Changes: []tools.Change{c}}
}

func (s items) newDelete() tools.Tool {
	return tools.New[ItemName, ContextOutput](tools.Spec{
		Name: "context_delete", Group: "memory", Positional: "path", Example: "projects/garden --drive agent",
		Description: "Delete a context item.",
	}, func(ctx context.Context, call tools.Call, in ItemName) (tools.Intent, error) {
		it, err := s.find(ctx, call, in)
		if err != nil {
			return tools.Intent{}, err
		}
		return meant(tools.Keyed, "context_delete", "delete the context item "+tools.ShownPath(it.Name()), ItemName{it.Drive, it.Path})
	}, func(ctx context.Context, call tools.Call, in ItemName, _ tools.Intent) (tools.Result, error) {
		it, err := s.find(ctx, call, in)
		if err != nil {
			return tools.Result{}, err
		}
		return tools.Result{
			Content: "deleted " + tools.ShownPath(it.Name()), Data: ContextOutput{Drive: it.Drive, Path: it.Path, Bytes: it.Bytes},
			Changes: []tools.Change{tools.DropContext{Drive: it.Drive, Path: it.Path}},
		}, nil
	})
}

func (s items) newRefresh() tools.Tool {
	return tools.New[ItemName, ContextOutput](tools.Spec{
		Name: "context_refresh", Group: "memory", Positional: "path", Example: "https://example.org/opening-hours --drive url",
		Description: "Read the address or the file of a context item again, and keep what it says now.",
	}, s.refreshIntent, s.refresh)
}

// fetching returns the call of web_fetch for an address.
func fetching(call tools.Call, link string) (tools.Call, error) {
	args, err := json.Marshal(map[string]string{"url": link})
	call.Name, call.Args = "web_fetch", args
	return call, err
}

// refreshIntent includes the source of the item, so that the permission rules judge both the read and the write.
func (s items) refreshIntent(ctx context.Context, call tools.Call, in ItemName) (tools.Intent, error) {
	it, err := s.find(ctx, call, in)
	if err != nil {
		return tools.Intent{}, err
	}
	i, err := meant(tools.Keyed, "context_refresh", "read again and keep "+tools.ShownPath(it.Name()), ItemName{it.Drive, it.Path})
	if err != nil {
		return i, err
	}
	reader := map[string]string{driveURL: "web_fetch", driveDisk: "read"}[it.Drive]
	switch {
	case reader == "":
		return i, tools.Refuse(tools.Validation, "context_write (hob context write) replaces it", "%s has no address or file that could be read again", tools.ShownPath(it.Name()))
	case !s.Allowed(reader):
		return i, tools.Refuse(tools.ConfigError, "[tools] allow and deny in config.toml", "%s needs the tool %s, which the config does not allow", tools.ShownPath(it.Name()), reader)
	case it.Drive == driveURL:
		inner, err := fetching(call, it.Path)
		if err != nil {
			return i, err
		}
		web, err := s.Fetch.Intent(ctx, inner)
		i.Scopes, i.Hosts, i.Links, i.Private, i.Foreign = append(i.Scopes, web.Scopes...), web.Hosts, web.Links, web.Private, web.Foreign
		return i, err
	}
	p, err := s.Guard.Resolve("", it.Path)
	if err != nil {
		return i, tools.RefusePath(s.Guard, call, it.Path, err)
	}
	i.Scopes, i.Paths = append(i.Scopes, tools.FSRead), []tools.Path{tools.PathOf(p, false)}
	return i, nil
}

// refresh reads the source again. Afterwards the item is foreign exactly if its source is.
func (s items) refresh(ctx context.Context, call tools.Call, in ItemName, i tools.Intent) (tools.Result, error) {
	it, err := s.find(ctx, call, in)
	if err != nil {
		return tools.Result{}, err
	}
	name, text, foreign := tools.ShownPath(it.Name()), "", i.Foreign
	if it.Drive == driveURL {
		var failed tools.Result
		if text, failed, err = s.page(ctx, call, it.Path, i); failed.IsError || err != nil {
			return failed, err
		}
	} else if text, foreign, err = s.file(call, it.Path, i); err != nil {
		return tools.Result{}, err
	}
	// Known secrets are removed, as in the index. Invisible characters are removed too.
	if s.Facts.Redact != nil {
		text = s.Facts.Redact(text)
	}
	text = legible(text)
	switch {
	case strings.TrimSpace(text) == "":
		return tools.Fail(tools.Validation, "the item stays as it was", "%s has no text now", name), nil
	case len(text) > mostOfItem:
		return tools.Fail(tools.Validation, "the item stays as it was", "%s has more than the %d bytes that an item holds at most", name, mostOfItem), nil
	}
	return kept(call, tools.PutContext{Drive: it.Drive, Path: it.Path, Content: text, Foreign: foreign}, it), nil
}

// page reads a web page with web_fetch. failed is the result if that fails.
func (s items) page(ctx context.Context, call tools.Call, link string, i tools.Intent) (text string, failed tools.Result, err error) {
	inner, err := fetching(call, link)
	if err != nil {
		return "", failed, err
	}
	res, err := s.Fetch.Run(ctx, inner, i)
	if err != nil || res.IsError {
		return "", res, err
	}
	page, ok := res.Data.(interface{ Page() (text, moved string) })
	if !ok {
		return "", failed, fmt.Errorf("web_fetch answers with %T", res.Data)
	}
	text, moved := page.Page()
	if moved != "" {
		failed = tools.Fail(tools.Conflict, "keep an item with that address; this one stays as it was", "%s leads to another place now: %s", link, moved)
		return "", failed, nil
	}
	return text, failed, nil
}

// file reads a file that the permission rules have judged, and says why its text is foreign.
func (s items) file(call tools.Call, path string, i tools.Intent) (text, foreign string, err error) {
	p, err := s.Guard.Resolve("", path)
	if err != nil {
		return "", "", tools.RefusePath(s.Guard, call, path, err)
	}
	if len(i.Paths) > 0 && i.Paths[0].Path != p.Path {
		return "", "", tools.Refuse(tools.Conflict, "call the tool again", "%s now leads to %s", tools.ShownPath(path), tools.ShownPath(p.Path))
	}
	f, err := s.Guard.Open(p)
	if err != nil {
		return "", "", tools.RefusePath(s.Guard, call, path, err)
	}
	data, err := io.ReadAll(io.LimitReader(f, mostOfItem+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", "", tools.RefusePath(s.Guard, call, path, err)
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return "", "", tools.Refuse(tools.Validation, "the item stays as it was; read shows what the file is", "%s is not a text", tools.ShownPath(path))
	}
	if p.Foreign != "" {
		foreign = p.Foreign + ": " + p.Path
	}
	return string(data), foreign, nil
}

// legible replaces broken bytes and control characters of a text, and gives it line ends of one kind.
func legible(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(strings.TrimPrefix(text, "\ufeff"), "\uFFFD"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return '\uFFFD'
		}
		return r
	}, text)
}
