package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"hob/daemon/llm"
	"hob/daemon/sys"
)

// The forms in which a call is written at the beginning of a text, other than as a JSON object with a name: the first group is the name, the second
// the arguments. The marks around them are in dialects.
var (
	kimiCall     = sys.Regexp(`(?s)^<\|tool_call_begin\|>\s*(.+?)\s*<\|tool_call_argument_begin\|>(.*?)<\|tool_call_end\|>`)                  // Kimi K2
	kimi3Call    = sys.Regexp(`(?s)^<\|open\|>call tool="([^"\n]+)"[^<]*<\|sep\|>(.*?)<\|close\|>call<\|sep\|>`)                              // Kimi K3
	deepSeekCall = sys.Regexp(`(?s)^<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?([^\n<]+?)(?:<｜tool▁sep｜>|\n)(.*?)<｜tool▁call▁end｜>`)         // DeepSeek
	harmonyCall  = sys.Regexp(`(?s)^(?:<\|start\|>assistant)?(?:<\|channel\|>\w+)? to=(\S+?)(?:\s[^{]*?)?<\|message\|>(.*?)(?:<\|call\|>|$)`) // gpt-oss
	glmCall      = sys.Regexp(`(?s)^<tool_call>\s*([\w.:-]+)\s*((?:<arg_key>.*?</arg_value>\s*)*)(?:</tool_call>|$)`)                         // GLM
	// Qwen 3 Coder and Llama 3.1; Claude, MiniMax, DeepSeek since V3.2 and Step 3, which put a name space before each name.
	tagCall = sys.Regexp(`(?s)^<(?:｜DSML｜|\w+:)?(?:function=|invoke name=")([^">\n]+)"?>(.*?)(?:\]<\]minimax\[>\[)?</(?:(?:｜DSML｜|\w+:)?(?:function|invoke)|tool_call)>`)
	// One mark around or between such calls, without groups.
	mark = sys.Regexp(`^(?:<\|(?:open|close)\|>tools<\|sep\|>|(?:\]<\]minimax\[>\[)?</?[^<>\s=]+>(?:function<｜tool_sep｜>)?|\]<\]minimax\[>\[)`)
)

func forms() []func() *regexp.Regexp {
	return []func() *regexp.Regexp{kimiCall, kimi3Call, deepSeekCall, tagCall, harmonyCall, glmCall, mark}
}

// parameters are the ways in which such a form writes one argument: its name and its value.
var parameters = sys.Regexp(`(?s)<(?:｜DSML｜|\w+:)?parameter(?:=|\s+name=")([^">]+)"?[^>]*>(.*?)</(?:｜DSML｜|\w+:)?parameter>|` +
	`<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>|` +
	`<\|open\|>argument key="([^"]+)"[^<]*<\|sep\|>(.*?)<\|close\|>argument<\|sep\|>|` +
	`\]<\]minimax\[>\[<([\w.-]+)>(.*?)\]<\]minimax\[>\[</[\w.-]+>`)

// parameter matches the beginning of an argument. A value that holds one quotes a call, so nobody knows where it ends.
var parameter = sys.Regexp(`<(?:｜DSML｜|\w+:)?parameter[= ]|<arg_key>|\]<\]minimax\[>\[`)

// unread is what the owner reads when the model's call arrived as a text that cannot be read.
const unread = "(The model tried to call a tool, but its server passed the call on as a text that hob cannot read. Start the server with its parser for the tool calls of this model.)"

// bareHarmony is a call of gpt-oss from a server that drops the special tokens of its template.
var bareHarmony = sys.Regexp(`(?s)^(?:analysis(\S.*?)assistant)?commentary to=(\S+?)(?:\s+(?:json|code))?\s*(\{.*\})$`)

// spoken returns the text of the answer without the calls in it, and these calls. Only the blocks that the answer ends with are calls: a block with
// text behind it, within another one that is quoted, beside calls that the server has understood, or without tools in the request stays text.
func (a *assembly) spoken(native int) (text string, calls []llm.Call) {
	text = a.text.String()
	blocks := a.filter.calls
	if m := bareHarmony().FindStringSubmatch(strings.TrimSpace(text)); m != nil && !a.filter.off && native+len(blocks) == 0 && a.types(m[2]) != nil && json.Valid([]byte(m[3])) {
		a.thought.WriteString(m[1])
		return "", []llm.Call{{ID: "call_1", Name: m[2], Args: json.RawMessage(m[3])}}
	}
	start, end := len(blocks), len(text)
	for start > 0 && strings.TrimSpace(text[blocks[start-1].at:end]) == "" {
		start--
		end = blocks[start].at
	}
	before := restored(text, blocks[:start])
	quoted := slices.ContainsFunc(dialects(), func(b block) bool { return b.kind == calling && strings.HasSuffix(strings.TrimSpace(before), b.open) })
	if native > 0 || len(a.tools) == 0 || start == len(blocks) || quoted {
		return restored(text, blocks), nil
	}
	for _, b := range blocks[start:] {
		found, ok := a.parse(b.raw)
		switch {
		case !ok && blocks[start].inLine:
			return restored(text, blocks), nil
		case !ok:
			return strings.TrimSpace(before + "\n" + unread), nil
		}
		for _, c := range found {
			c.ID = fmt.Sprintf("call_%d", len(calls)+1)
			calls = append(calls, c)
		}
	}
	return strings.TrimRight(before, " \t\r\n"), calls
}

// restored puts blocks back into the text.
func restored(text string, blocks []textCall) string {
	for _, b := range slices.Backward(blocks) {
		text = text[:b.at] + b.raw + b.tail + text[b.at:]
	}
	return text
}

// parse reads the calls of a block. ok is false when anything in it cannot be read.
func (a *assembly) parse(raw string) (calls []llm.Call, ok bool) {
	raw = withoutEnds(raw)
	bare := raw
	for _, b := range dialects() {
		if b.kind == calling {
			bare = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(bare), b.open), cmp.Or(b.close, b.open)))
		}
	}
	if calls, ok = objects(bare); !ok {
		calls, ok = a.formed(raw)
	}
	if list, _ := llm.Arguments(bare); !ok && len(list) == 1 {
		calls, ok = objects(string(list[0]))
	}
	if !ok {
		calls, ok = llm.WrittenCalls(bare)
	}
	return calls, ok
}

// formed reads calls in one of forms, one after another. A form counts only where a call can begin: elsewhere it is part of an argument.
func (a *assembly) formed(rest string) (calls []llm.Call, ok bool) {
	for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
		var m []string
		begins := func(form func() *regexp.Regexp) bool { m = form().FindStringSubmatch(rest); return m != nil }
		if !slices.ContainsFunc(forms(), begins) {
			return nil, false
		}
		rest = rest[len(m[0]):]
		if len(m) > 1 { // no mark
			args, ok := a.arguments(m[1], m[2])
			if !ok {
				return nil, false
			}
			calls = append(calls, llm.Call{Name: m[1], Args: args})
		}
	}
	return calls, len(calls) > 0
}

// between matches what may be between two such objects: the semicolon of Llama 3, or marks.
var between = sys.Regexp(`^\s*(?:;|(?:</?[^<>\s=]+>\s*)+)`)

// objects reads calls that are JSON objects with a name, one after another or in a list.
func objects(text string) (calls []llm.Call, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	for {
		var list few[struct {
			function
			ToolName words              `json:"tool_name"`
			Tool     words              `json:"tool"`
			Function optional[function] `json:"function"`
		}]
		switch err := d.Decode(&list); {
		case errors.Is(err, io.EOF):
			return calls, len(calls) > 0
		case err != nil:
			rest := text[d.InputOffset():]
			mark := between().FindString(rest)
			if mark == "" || calls == nil && strings.Contains(mark, ";") {
				return nil, false
			}
			text = rest[len(mark):]
			d = json.NewDecoder(strings.NewReader(text))
			continue
		}
		for _, c := range list {
			name, args := cmp.Or(c.Name, c.ToolName, c.Tool, c.Function.value.Name), cmp.Or(c.args(), c.Function.value.args(), "{}")
			if name == "" {
				return nil, false
			}
			calls = append(calls, llm.Call{Name: string(name), Args: json.RawMessage(args)})
		}
	}
}

// arguments reads the arguments of one of forms: a JSON object, perhaps in a fence, or one mark for each argument.
func (a *assembly) arguments(tool, text string) (json.RawMessage, bool) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "```") {
		return json.RawMessage(text), true // the agent reads it as it reads all arguments
	}
	types := a.types(tool)
	args := map[string]any{}
	for _, m := range parameters().FindAllStringSubmatch(text, -1) {
		name, value := strings.TrimSpace(m[1]+m[3]+m[5]+m[7]), strings.TrimSuffix(strings.TrimPrefix(m[2]+m[4]+m[6]+m[8], "\n"), "\n")
		if _, twice := args[name]; twice || parameter().MatchString(value) {
			return nil, false
		}
		args[name] = value
		if kind := types[name]; kind != "" && kind != "string" && json.Valid([]byte(value)) {
			args[name] = json.RawMessage(bytes.TrimSpace([]byte(value)))
		}
		text = strings.Replace(text, m[0], "", 1)
	}
	if strings.TrimSpace(text) != "" {
		return nil, false
	}
	out, err := json.Marshal(args)
	return out, err == nil
}

// types returns the JSON types of a tool's parameters, "" where the schema names none or several.
func (a *assembly) types(tool string) map[string]string {
	out := map[string]string{}
	var names []string
	for _, t := range a.tools {
		names = append(names, t.Name)
	}
	name, ok := llm.ToolName(names, tool)
	if !ok {
		return nil
	}
	var schema struct {
		Properties map[string]struct {
			Type optional[string] `json:"type"`
		} `json:"properties"`
	}
	if json.Unmarshal(a.tools[slices.Index(names, name)].Parameters, &schema) == nil {
		for name, p := range schema.Properties {
			out[name] = p.Type.value
		}
	}
	return out
}
