package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/daemon/event"
	"hob/daemon/netguard"
	"hob/daemon/text"
	"hob/tools"
	host "hob/tools/mcp"
)

// Limits of one result.
const (
	maxParts   = 20        // pictures and files
	maxChecked = 256 << 10 // bytes of structured content that are compared with a schema, which a server could make slow
)

// converter makes a result of hob's from the contents of a server's answer.
type converter struct {
	svc    *Service
	ctx    context.Context //nolint:containedctx // it lives for one answer
	server string
	out    tools.Result
	lines  []string
}

// result converts the answer to a call. A failure that the tool reports is an error result with its text.
func (s *Service) result(ctx context.Context, d host.Def, r *sdk.CallToolResult) tools.Result {
	c := converter{s, ctx, d.Server, tools.Result{Foreign: source(d.Server)}, nil}
	for _, one := range r.Content {
		c.content(one)
	}
	if r.StructuredContent != nil {
		c.structured(d, r.StructuredContent)
	}
	out := c.done("done, without output")
	if r.IsError {
		if text := strings.ToLower(out.Content); strings.Contains(text, "read-only file system") {
			out.Content += "\n[the program writes only to folders that the owner gives it: hob mcp add --bind PATH:rw]"
		}
		fail := tools.Fail(tools.Unknown, "", "%s", out.Content)
		fail.Content = out.Content
		fail.Foreign, fail.Data, fail.Parts = out.Foreign, out.Data, out.Parts
		return fail
	}
	return out
}

// done joins the texts.
func (c *converter) done(empty string) tools.Result {
	c.out.Content = strings.Join(c.lines, "\n")
	c.out.Content = cmp.Or(c.out.Content, empty)
	return c.out
}

// say adds text.
func (c *converter) say(format string, args ...any) {
	c.lines = append(c.lines, fmt.Sprintf(format, args...))
}

// structured adds the structured content as data. The model reads it if the server gives no text. Content that does not match the schema
// that the owner accepted is marked.
func (c *converter) structured(d host.Def, value any) {
	raw, err := json.Marshal(value)
	if err != nil {
		c.say("[the structured content is no JSON]")
		return
	}
	c.out.Data = json.RawMessage(raw)
	if len(c.lines) == 0 {
		c.say("%s", raw)
	}
	if d.Output == nil {
		return
	}
	schema, size, err := comparison(d.Output)
	if err != nil {
		return // nobody can compare with it
	}
	if len(raw) > maxChecked || size*len(raw) > maxCompared {
		c.say("[the structured content is too large to be compared with the tool's output schema]")
		return
	}
	var plain any
	if json.Unmarshal(raw, &plain) == nil && schema.Validate(plain) != nil {
		c.say("[the structured content does not match the tool's output schema]")
	}
}

// content adds one piece.
func (c *converter) content(one sdk.Content) {
	switch v := one.(type) {
	case *sdk.TextContent:
		c.say("%s", v.Text)
	case *sdk.ImageContent:
		c.picture("picture", v.MIMEType, v.Data)
	case *sdk.AudioContent:
		c.file("sound", v.MIMEType, v.Data)
	case *sdk.ResourceLink:
		c.say("[resource %s: %s %s]", v.URI, v.Name, v.Description)
	case *sdk.EmbeddedResource:
		c.resource(v.Resource)
	case nil:
	default:
		c.say("[a piece of a kind that hob does not know]")
	}
}

// resource adds the contents of a resource.
func (c *converter) resource(r *sdk.ResourceContents) {
	switch {
	case r == nil:
	case len(r.Blob) > 0 && strings.HasPrefix(r.MIMEType, "image/"):
		c.picture(path.Base(r.URI), r.MIMEType, r.Blob)
	case len(r.Blob) > 0:
		c.file(path.Base(r.URI), r.MIMEType, r.Blob)
	default:
		c.say("[%s]\n%s", r.URI, r.Text)
	}
}

// picture adds a picture that a model can look at. One that cannot be shown becomes a file.
func (c *converter) picture(name, mime string, data []byte) {
	if c.svc.Picture == nil || len(c.out.Parts) >= maxParts {
		c.file(name, mime, data)
		return
	}
	shown, small, err := c.svc.Picture(c.ctx, data)
	if err != nil {
		c.file(name, mime, data)
		return
	}
	c.keep(event.Image, name, shown, small)
}

// file adds a file.
func (c *converter) file(name, mime string, data []byte) {
	if len(c.out.Parts) >= maxParts {
		c.say("[one more file, which was not kept]")
		return
	}
	c.keep(event.File, name, mime, data)
}

// keep stores bytes as an artifact and adds them as a part.
func (c *converter) keep(kind event.PartKind, name, mime string, data []byte) {
	name = fileName(name)
	id, err := c.svc.Artifacts.KeepForeign(c.ctx, name, source(c.server), data)
	if err != nil {
		if c.ctx.Err() == nil {
			c.svc.Log.Error("store a file of an MCP server", "server", c.server, "err", err)
		}
		c.say("[%s, %d bytes, could not be kept]", name, len(data))
		return
	}
	mime = text.Shorten(strings.Map(printable, mime), 100)
	c.out.Parts = append(c.out.Parts, event.Part{Kind: kind, Artifact: id, Name: name, Size: int64(len(data)), MIME: mime})
	c.say("[%s %s, %s, %d bytes]", kind, id, name, len(data))
}

// fileName makes a name for a file of what a server calls it.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' {
			return '_'
		}
		return printable(r)
	}, name)
	if name = strings.TrimLeft(text.Shorten(name, 80), "."); name == "" {
		return "file"
	}
	return name
}

// printable drops characters that could not be seen.
func printable(r rune) rune {
	if netguard.Invisible(r) {
		return -1
	}
	return r
}
