package completions

import (
	"fmt"
	"strings"
	"time"

	"hob/daemon/api"
)

// Completion is an answer as a whole. Chunk is a piece of one.
type (
	Completion struct {
		ID      string   `json:"id"`
		Object  string   `json:"object"`
		Created int64    `json:"created"`
		Model   string   `json:"model"`
		Choices []Choice `json:"choices"`
		Usage   *Usage   `json:"usage,omitempty"`
	}
	// Choice is the one answer.
	Choice struct {
		Index   int     `json:"index"`
		Message *Said   `json:"message,omitempty"`
		Delta   *Said   `json:"delta,omitempty"`
		Finish  *string `json:"finish_reason"`
	}
	// Said is a text with its role.
	Said struct {
		Role    string `json:"role,omitempty"`
		Content string `json:"content"`
	}
	// Usage counts tokens.
	Usage struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
		Total      int64 `json:"total_tokens"`
	}
)

// Whole makes the answer to a request that does not stream.
func Whole(r api.ChatRequest, p api.ChatProgress, text string) Completion {
	stop := "stop"
	c := envelope(r, "chat.completion")
	c.Choices, c.Usage = []Choice{{Message: &Said{"assistant", text}, Finish: &stop}}, usage(p)
	return c
}

// Piece makes a piece of a stream. The first one brings the role.
func Piece(r api.ChatRequest, text string, first bool) Completion {
	c := envelope(r, "chat.completion.chunk")
	said := &Said{Content: text}
	if first {
		said.Role = "assistant"
	}
	c.Choices = []Choice{{Delta: said}}
	return c
}

// Last makes the piece that ends the text of a stream.
func Last(r api.ChatRequest) Completion {
	stop := "stop"
	c := envelope(r, "chat.completion.chunk")
	c.Choices = []Choice{{Delta: &Said{}, Finish: &stop}}
	return c
}

// Used makes the piece of a stream that counts its tokens.
func Used(r api.ChatRequest, p api.ChatProgress) Completion {
	c := envelope(r, "chat.completion.chunk")
	c.Choices, c.Usage = []Choice{}, usage(p)
	return c
}

func envelope(r api.ChatRequest, object string) Completion {
	return Completion{ID: "chatcmpl-" + r.ExtID, Object: object, Created: r.At.Unix(), Model: Model}
}

func usage(p api.ChatProgress) *Usage { return &Usage{p.Input, p.Output, p.Input + p.Output} }

// Waiting is what a client gets in place of an answer when a turn waits for its owner. It names the question by its number: the code is for the owner only.
func Waiting(p api.ChatProgress) string {
	if len(p.Questions) == 0 {
		return "hob waits before it goes on with this. Send the same messages again later to get the answer."
	}
	return fmt.Sprintf("hob waits for its owner before it goes on: question %d. The owner finds it where hob asks, or with hob approvals show %d, and answers there: an answer in this chat does not count. Send the same messages again to get the result.", p.Questions[0], p.Questions[0])
}

// ModelRow is an entry of the list of models.
type ModelRow struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Owner   string `json:"owned_by"`
}

// TheModel is the one model.
func TheModel(since time.Time) ModelRow {
	return ModelRow{ID: Model, Object: "model", Created: since.Unix(), Owner: "hob"}
}

// Failure is an error as OpenAI's clients read it.
type Failure struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	} `json:"error"`
}

// Fail makes the error of a status. hint, param and code may be "".
func Fail(status int, text, hint, param, code string) (f Failure) {
	f.Error.Message = text
	if hint != "" {
		f.Error.Message += " (" + hint + ")"
	}
	switch {
	case status == 401:
		f.Error.Type = "authentication_error"
	case status == 403:
		f.Error.Type = "permission_error"
	case status == 429:
		f.Error.Type = "rate_limit_error"
	case status >= 500:
		f.Error.Type = "server_error"
	default:
		f.Error.Type = "invalid_request_error"
	}
	if param != "" {
		f.Error.Param = &param
	}
	if code != "" {
		f.Error.Code = &code
	}
	return f
}

// Growth turns the live pieces of a turn into the text of a stream. Pieces may be missing, and a step may be tried again: the end of a stream has the whole
// answer all the same.
type Growth struct {
	step  int
	text  string // of this step, as far as it came without a gap
	gap   bool
	begun bool // something was sent
}

// Add returns what to send of a piece of a step.
func (g *Growth) Add(step, offset int, text string) string {
	lead := ""
	if step != g.step {
		if g.begun && g.text != "" {
			lead = "\n\n"
		}
		*g = Growth{step: step, begun: g.begun}
	}
	if g.gap = g.gap || offset != len(g.text); g.gap {
		return ""
	}
	g.text += text
	g.begun = g.begun || text != ""
	return lead + text
}

// End returns what is missing of the answer.
func (g *Growth) End(answer string) string {
	have, whole := strings.TrimSpace(g.text), strings.TrimSpace(answer)
	switch rest, ok := strings.CutPrefix(whole, have); {
	case !g.begun:
		return answer
	case ok && have != "":
		if rest != "" && strings.TrimRight(g.text, " \t\r\n") != g.text { // the white space has been sent
			return strings.TrimLeft(rest, " \t\r\n")
		}
		return rest
	case whole == "":
		return ""
	}
	return "\n\n" + answer
}
