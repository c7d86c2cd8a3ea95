// Package completions speaks OpenAI's Chat Completions as a server: it reads requests and writes answers in that form, and decides what of a request hob
// takes as new. It reaches nothing and stores nothing; package server does both.
//
// The form is that of the API reference of OpenAI, "Create chat completion". Fields that hob does not know are ignored, as other servers do. Those whose
// effect a client would miss are refused.
package completions

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"mime"
	"net/url"
	"strings"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/sys"
)

// Limits of one request.
const (
	maxMessages  = 2000
	maxParts     = 100       // of one message
	maxText      = 256 << 10 // bytes of the newest message
	maxTold      = 64 << 10  // characters of earlier messages that hob did not say itself; more is left out in their middle
	maxFiles     = 10
	maxFile      = 8 << 20 // bytes
	maxFileBytes = 20 << 20
)

// Model is the name of the one model that hob offers: itself.
const Model = "hob"

// Refusal is an error of a request, with the field that it is about.
type Refusal struct {
	Param string // "" : the whole request
	Code  string // OpenAI's word for it, "": none
	Fault *event.Fault
}

func (r *Refusal) Error() string { return r.Fault.Text }

// Unwrap returns the fault.
func (r *Refusal) Unwrap() error { return r.Fault }

func refuse(param, code, hint, format string, args ...any) *Refusal {
	return &Refusal{param, code, event.NewFault(event.Invalid, hint, format, args...)}
}

// Conversation is a request that hob can serve.
type Conversation struct {
	Person string // names the conversation together with the client; "": the messages name it
	Others []Message
	Text   string // of the newest message of the user
	Files  []api.Attachment
	Stream bool
	Usage  bool // a stream ends with the usage

	all  []Message // Others with the newest message of the user at its place
	last int       // where that is
}

// Message is an entry of the conversation as the client tells it.
type Message struct {
	Role   string
	Text   string // pictures and files are named in it
	digest string
}

// request has the fields that hob reads. Its lists are arrays with one place more than hob takes: the decoder skips what follows, so that a list of millions
// takes no memory.
type request struct {
	Messages       [maxMessages + 1]*message `json:"messages"`
	User           string                    `json:"user"`
	Stream         bool                      `json:"stream"`
	StreamOptions  options                   `json:"stream_options"`
	N              *int                      `json:"n"`
	Tools          given                     `json:"tools"`
	ToolChoice     word                      `json:"tool_choice"`
	Functions      given                     `json:"functions"`
	ResponseFormat format                    `json:"response_format"`
	Logprobs       bool                      `json:"logprobs"`
	Modalities     [2]string                 `json:"modalities"`
	Audio          given                     `json:"audio"`
}

// given reports whether a field asks for something: it is neither null nor an empty list. What it holds is not kept.
type given bool

// UnmarshalJSON looks at the value.
func (g *given) UnmarshalJSON(raw []byte) error {
	list, isList := bytes.CutPrefix(raw, []byte("["))
	*g = given(string(raw) != "null" && (!isList || string(bytes.TrimSpace(list)) != "]"))
	return nil
}

// word is a text. Other values are "", and are not kept.
type word string

// UnmarshalJSON takes a text.
func (t *word) UnmarshalJSON(raw []byte) error {
	*t = ""
	if raw[0] != '"' {
		return nil
	}
	return json.Unmarshal(raw, (*string)(t))
}

// filled is the part of an array up to its last entry.
func filled[T any](list []*T) []*T {
	for len(list) > 0 && list[len(list)-1] == nil {
		list = list[:len(list)-1]
	}
	return list
}

type options struct {
	IncludeUsage bool `json:"include_usage"`
}

type format struct {
	Type string `json:"type"`
}

type message struct {
	Role    string   `json:"role"`
	Content contents `json:"content"`
}

// contents are the parts of a message. A text is one part; null, of an answer that only called tools, has none.
type contents struct {
	list  [maxParts + 1]*part
	wrong bool // it is neither a text nor a list of parts
}

// UnmarshalJSON reads a text or a list. Content of another kind is refused later, where the place of the message is known.
func (c *contents) UnmarshalJSON(raw []byte) error {
	*c = contents{}
	if raw[0] != '"' {
		c.wrong = json.Unmarshal(raw, &c.list) != nil
		return nil
	}
	c.list[0] = &part{Type: "text"}
	return json.Unmarshal(raw, &c.list[0].Text)
}

// Parse reads the body of a request. Its errors are *Refusal.
func Parse(body []byte) (c Conversation, _ error) {
	var r request
	if err := json.Unmarshal(body, &r); err != nil {
		return c, refuse("", "", `send {"model": "hob", "messages": [{"role": "user", "content": "…"}]}`, "the request's body is not understood: %s", api.BodyProblem(err))
	}
	if err := unsupported(r); err != nil {
		return c, err
	}
	list := filled(r.Messages[:])
	if len(list) > maxMessages {
		return c, refuse("messages", "", "leave out the oldest", "there are more than %d messages", maxMessages)
	}
	c = Conversation{Person: person(r.User), Stream: r.Stream, Usage: r.StreamOptions.IncludeUsage, last: -1}
	for i := len(list) - 1; i >= 0 && c.last < 0; i-- {
		if list[i] != nil && list[i].Role == "user" {
			c.last = i
		}
	}
	if c.last < 0 {
		return c, refuse("messages", "", "the newest message of the role user is what hob answers", "there is no message of the user")
	}
	for i, m := range list {
		if m == nil {
			m = &message{}
		}
		read, files, err := content(m, i, i == c.last)
		if err != nil {
			return c, err
		}
		c.all = append(c.all, read)
		if i == c.last {
			c.Text, c.Files = read.Text, files
			continue
		}
		c.Others = append(c.Others, read)
	}
	return c, bounded(c)
}

// Taken drops what only the input needs, once it is stored: an answer may take hours.
func (c *Conversation) Taken() { *c = Conversation{Stream: c.Stream, Usage: c.Usage} }

// unsupported refuses what hob would have to leave out although the client counts on it.
func unsupported(r request) error {
	const code = "unsupported_parameter"
	switch {
	case r.N != nil && *r.N != 1:
		return refuse("n", code, "leave n out", "hob gives one answer, not %d", *r.N)
	case bool(r.Tools || r.Functions) && r.ToolChoice != "none":
		return refuse("tools", code, "leave tools out: hob has its own, and calls them itself", "hob calls no tools of its clients")
	case r.ResponseFormat.Type != "" && r.ResponseFormat.Type != "text":
		return refuse("response_format", code, "ask for the form in your message", "hob answers in text, and does not promise another form")
	case r.Logprobs:
		return refuse("logprobs", code, "leave logprobs out", "hob knows no probabilities")
	case bool(r.Audio), r.Modalities != [2]string{} && r.Modalities != [2]string{"text"}:
		return refuse("modalities", code, "leave modalities and audio out", "hob answers in text only")
	}
	return nil
}

// bounded checks the newest message.
func bounded(c Conversation) error {
	where := fmt.Sprintf("messages[%d].content", c.last)
	size := 0
	for _, f := range c.Files {
		size += len(f.Data)
	}
	var f *event.Fault
	switch {
	case strings.TrimSpace(c.Text) == "" && len(c.Files) == 0:
		return refuse(where, "", "write something", "the newest message of the user is empty")
	case len(c.Text) > maxText:
		f = event.NewFault(event.TooLarge, "attach it as a file", "the newest message is over %d KB", maxText>>10)
	case len(c.Files) > maxFiles:
		f = event.NewFault(event.TooLarge, "send the rest with another message", "a message takes at most %d files, this one has %d", maxFiles, len(c.Files))
	case size > maxFileBytes:
		f = event.NewFault(event.TooLarge, "send some of them with another message", "the files of a message are over %d MB together", maxFileBytes>>20)
	default:
		return nil
	}
	return &Refusal{where, "", f}
}

// part is a piece of a message's content.
type part struct {
	Type     string  `json:"type"`
	Text     string  `json:"text"`
	Refusal  string  `json:"refusal"`
	ImageURL picture `json:"image_url"`
	File     struct {
		Name string `json:"filename"`
		Data string `json:"file_data"`
	} `json:"file"`
}

// picture is the address of a picture, which some clients send without the object around it.
type picture struct {
	url   string
	wrong bool
}

// UnmarshalJSON reads the object, or the address alone.
func (p *picture) UnmarshalJSON(raw []byte) error {
	var of struct {
		URL string `json:"url"`
	}
	if raw[0] == '"' {
		return json.Unmarshal(raw, &p.url)
	}
	p.wrong = json.Unmarshal(raw, &of) != nil
	p.url = of.URL
	return nil
}

// content reads one message. Only the newest message of the user (taken) brings its files; in others they are named.
func content(m *message, i int, taken bool) (Message, []api.Attachment, error) {
	read := Message{Role: m.Role}
	where := fmt.Sprintf("messages[%d]", i)
	if !role(m.Role) {
		return read, nil, refuse(where+".role", "", "roles are system, developer, user, assistant and tool", "%q is not a role", m.Role)
	}
	where += ".content"
	parts := filled(m.Content.list[:])
	switch {
	case m.Content.wrong:
		return read, nil, refuse(where, "", "a text, or a list of parts", "the content is not understood")
	case len(parts) > maxParts:
		return read, nil, refuse(where, "", "join the texts", "a message has more than %d parts", maxParts)
	}
	sum := sha256.New()
	digest(sum, m.Role)
	var texts []string
	var files []api.Attachment
	for n, p := range parts {
		if p == nil {
			p = &part{}
		}
		at := fmt.Sprintf("%s[%d]", where, n)
		switch p.Type {
		case "text", "refusal":
			texts = append(texts, p.Text+p.Refusal)
			continue
		case "image_url", "file":
		default:
			return read, nil, refuse(at+".type", "", "hob takes the parts text, image_url and file", "hob does not take a part %q", p.Type)
		}
		address, name, err := p.source(at)
		if err != nil {
			return read, nil, err
		}
		digest(sum, p.Type, name, address)
		if !taken {
			texts = append(texts, "["+strings.TrimSuffix(p.Type, "_url")+"]")
			continue
		}
		f, err := attachment(at, address, name)
		if err != nil {
			return read, nil, err
		}
		files = append(files, f)
	}
	read.Text = strings.ToValidUTF8(strings.Join(texts, "\n"), "\uFFFD")
	digest(sum, "text", strings.TrimSpace(read.Text))
	read.digest = hex.EncodeToString(sum.Sum(nil)[:12])
	return read, files, nil
}

// digest adds fields to a sum, each with its length, so that no two lists of fields have the same bytes.
func digest(sum hash.Hash, fields ...string) {
	for _, f := range fields {
		_, _ = fmt.Fprintf(sum, "%d:%s", len(f), f) // a hash takes everything
	}
}

func role(name string) bool {
	switch name {
	case "system", "developer", "user", "assistant", "tool", "function":
		return true
	}
	return false
}

// source returns the data: URL of a picture or file.
func (p part) source(at string) (address, name string, err error) {
	if p.Type == "file" {
		if p.File.Data == "" {
			return "", "", refuse(at+".file", "", "send the file itself as file_data", "hob has no files of its clients")
		}
		return p.File.Data, p.File.Name, nil
	}
	if p.ImageURL.wrong {
		return "", "", refuse(at+".image_url", "", `send {"url": "data:image/png;base64,…"}`, "the picture is not understood")
	}
	return p.ImageURL.url, "", nil
}

// attachment decodes a data: URL (RFC 2397) in base64.
func attachment(at, address, name string) (f api.Attachment, _ error) {
	head, data, ok := strings.Cut(address, ",")
	kind, isData := strings.CutPrefix(head, "data:")
	kind, is64 := strings.CutSuffix(kind, ";base64")
	if !ok || !isData || !is64 {
		return f, refuse(at, "invalid_image_url", "send it as data:image/png;base64,…", "hob loads nothing from the web for its clients: a picture or file must be a data: URL in base64")
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if unescaped, wrong := url.PathUnescape(data); err != nil && wrong == nil {
		raw, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(unescaped, "="))
	}
	switch {
	case err != nil || len(raw) == 0:
		return f, refuse(at, "", "", "the data: URL holds no base64")
	case len(raw) > maxFile:
		return f, &Refusal{at, "", event.NewFault(event.TooLarge, "make it smaller", "a file is over %d MB", maxFile>>20)}
	}
	if kind, _, err = mime.ParseMediaType(kind); err != nil {
		kind = ""
	}
	if name == "" {
		_, ending, _ := strings.Cut(kind, "/")
		name = "picture." + strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
				return r
			}
			return -1
		}, ending)
	}
	return api.Attachment{Name: name, MIME: kind, Data: raw}, nil
}

// plainName is a name that may stand in the key of a conversation as it is.
var plainName = sys.Regexp(`^[A-Za-z0-9._@-]{1,64}$`)

// person turns the field user into a part of the conversation's key. A name with other characters is replaced by its hash; "~" keeps the two apart.
func person(user string) string {
	if user == "" || plainName().MatchString(user) {
		return user
	}
	sum := sha256.Sum256([]byte(user))
	return "~" + hex.EncodeToString(sum[:12])
}
