package daemon_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// mistake is one that small models and their servers make: in the form of every answer, or in the content of one.
type mistake struct {
	name string
	form func(s *said)
	once func(m *scripted, s *said) bool // changes a right answer; false: this one cannot be wrong in this way
}

// eachCall returns a form that changes each call.
func eachCall(change func(c *toolUse)) func(s *said) {
	return func(s *said) {
		for i := range s.calls {
			change(&s.calls[i])
		}
	}
}

// argsOf returns a form that changes the arguments of each call.
func argsOf(change func(args string) string) func(s *said) {
	return eachCall(func(c *toolUse) { c.args = change(c.args) })
}

// asText returns a form that writes the calls into the text.
func asText(before, between, after string, write func(toolUse) string) func(s *said) {
	return func(s *said) {
		s.asText = func(calls []toolUse) string {
			var list []string
			for _, c := range calls {
				list = append(list, write(c))
			}
			return before + strings.Join(list, between) + after
		}
	}
}

// members returns a mistake in the arguments of the only call.
func members(change func(args map[string]any) bool) func(*scripted, *said) bool {
	return func(_ *scripted, s *said) bool {
		var args map[string]any
		if len(s.calls) != 1 || json.Unmarshal([]byte(s.calls[0].args), &args) != nil || !change(args) {
			return false
		}
		s.calls[0].args = jsonText(args)
		return true
	}
}

// renamed returns a mistake in the name of a required member.
func renamed(names map[string]string) func(*scripted, *said) bool {
	return members(func(args map[string]any) bool {
		for _, name := range slices.Sorted(maps.Keys(args)) {
			if other := names[name]; other != "" {
				args[other] = args[name]
				delete(args, name)
				return true
			}
		}
		return false
	})
}

func jsonText(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // it came from JSON
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// callObject writes a call as one JSON object.
func callObject(c toolUse, arguments string) string {
	value := json.RawMessage(c.args)
	if !json.Valid(value) {
		value = json.RawMessage(jsonText(c.args))
	}
	return fmt.Sprintf(`{"name":%s,%q:%s}`, jsonText(c.name), arguments, value)
}

// python writes JSON as Python does.
func python(args string) string {
	if strings.ContainsAny(args, `'\`) {
		return args
	}
	return strings.NewReplacer(`"`, `'`, "true", "True", "false", "False", "null", "None").Replace(args)
}

// pairs writes each member with the marks of a template.
func pairs(c toolUse, before, between, after string) string {
	var args map[string]json.RawMessage
	if json.Unmarshal([]byte(c.args), &args) != nil {
		return c.args
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(args)) {
		text := string(args[name])
		_ = json.Unmarshal(args[name], &text) // what is no text stays JSON
		b.WriteString(before + name + between + text + after)
	}
	return b.String()
}

func mistakes() []mistake { return slices.Concat(forms(), contents()) }

// forms are mistakes in how an answer is written. Each is made in every answer.
func forms() []mistake {
	number := regexp.MustCompile(`":(\d+|true|false)([,}])`)
	return []mistake{
		{name: "arguments in a fence", form: argsOf(func(a string) string { return "```json\n" + a + "\n```" })},
		{name: "arguments as a text", form: argsOf(func(a string) string { return jsonText(a) })},
		{name: "a trailing comma", form: argsOf(func(a string) string {
			if at := strings.LastIndex(a, "}"); at > 0 {
				return a[:at] + "," + a[at:]
			}
			return a
		})},
		{name: "raw line breaks", form: argsOf(func(a string) string { return strings.ReplaceAll(a, `\n`, "\n") })},
		{name: "numbers as texts", form: argsOf(func(a string) string { return number.ReplaceAllString(a, `":"$1"$2`) })},
		{name: "a name space", form: eachCall(func(c *toolUse) { c.name = "functions." + c.name })},
		{name: "a name space with an ordinal", form: func(s *said) {
			for i := range s.calls {
				s.calls[i].name = fmt.Sprintf("functions.%s:%d", s.calls[i].name, i)
			}
		}},
		{name: "the name in capitals, with spaces", form: eachCall(func(c *toolUse) { c.name = " " + strings.ToUpper(c.name) + "\n" })},
		{name: "a mark of the template in the name", form: eachCall(func(c *toolUse) { c.name += "<|channel|>commentary" })},
		{name: "two calls in one", form: func(s *said) {
			if len(s.calls) == 2 && s.calls[0].name == s.calls[1].name {
				s.calls = []toolUse{{s.calls[0].name, s.calls[0].args + "\n" + s.calls[1].args}}
			}
		}},
		{name: "the call as a text (Hermes, Qwen)", form: asText("", "\n", "", func(c toolUse) string {
			return "<tool_call>\n" + callObject(c, "arguments") + "\n</tool_call>"
		})},
		{name: "the call as a text (Mistral)", form: asText("[TOOL_CALLS][", ", ", "]", func(c toolUse) string { return callObject(c, "arguments") })},
		{name: "the call as a text (Llama)", form: asText("<|python_tag|>", "; ", "", func(c toolUse) string { return callObject(c, "parameters") })},
		{name: "the call as a text (Qwen Coder)", form: asText("", "\n", "", func(c toolUse) string {
			return "<tool_call>\n<function=" + c.name + ">\n" + pairs(c, "<parameter=", ">\n", "\n</parameter>\n") + "</function>\n</tool_call>"
		})},
		{name: "thinking in the answer", form: func(s *said) { s.text = "<think>\nThe owner wants it done.\n</think>\n\n" + s.text }},
		{name: "only the end of thinking", form: func(s *said) { s.text = "I should use a tool.\n</think>\n\n" + s.text }},
		{name: "a control word at the end", form: func(s *said) {
			if len(s.calls) == 0 {
				s.text += "<|im_end|>"
			}
		}},
		{name: "talk before the call", form: func(s *said) {
			if len(s.calls) > 0 {
				s.text = "Sure! I will do that now.\n" + s.text
			}
		}},
		{name: "neither ids nor indexes", form: func(s *said) { s.bare = true }},
		{name: "each piece repeats the ones before", form: func(s *said) { s.cumulative = true }},
		{name: "an empty object first", form: func(s *said) { s.hollow = true }},
		{name: "the end without calls", form: func(s *said) { s.finish = "stop" }},
		{name: "counts as texts", form: func(s *said) { s.count = `{"prompt_tokens":"10","completion_tokens":"5","total_tokens":null}` }},
	}
}

// contents are mistakes in what an answer says. Each is made once.
func contents() []mistake {
	return []mistake{
		{name: "a required member is missing", once: members(func(args map[string]any) bool {
			for _, name := range []string{"content", "new_text", "query", "prompt", "path", "name"} {
				if _, ok := args[name]; ok {
					delete(args, name)
					return true
				}
			}
			return false
		})},
		{name: "another name of a member", once: renamed(map[string]string{"path": "filename", "query": "q", "schedule": "time", "name": "tool_name"})},
		{name: "another name of the text", once: renamed(map[string]string{"content": "text", "old_text": "old_string", "prompt": "message"})},
		{name: "a member too many", once: members(func(args map[string]any) bool { args["reason"] = "the owner said so"; return true })},
		{name: "arguments within arguments", once: members(func(args map[string]any) bool {
			inner := maps.Clone(args)
			clear(args)
			args["arguments"] = inner
			return true
		})},
		{name: "a list in place of a text", once: members(func(args map[string]any) bool {
			for _, name := range []string{"path", "query", "name"} {
				if text, ok := args[name].(string); ok {
					args[name] = []string{text}
					return true
				}
			}
			return false
		})},
		{name: "another word of a choice", once: members(func(args map[string]any) bool {
			word, ok := args["action"].(string)
			args["action"] = word + "_it"
			return ok
		})},
		{name: "arguments in Python", once: func(_ *scripted, s *said) bool {
			was := s.calls
			s.calls = slices.Clone(was)
			argsOf(python)(s)
			return len(was) == 1 && s.calls[0].args != was[0].args
		}},
		{name: "arguments that are cut off", once: func(_ *scripted, s *said) bool {
			if len(s.calls) != 1 {
				return false
			}
			a := s.calls[0].args
			s.calls[0].args = a[:len(a)*2/3]
			return true
		}},
		{name: "a tool that is not there", once: func(_ *scripted, s *said) bool {
			other := map[string]string{"write": "create_file", "read": "open_document", "edit": "str_replace", "cron": "set_reminder", "ls": "dir", "memory_search": "recall", "memory_write": "save_fact", "tool": "find_function"}
			if len(s.calls) != 1 || other[s.calls[0].name] == "" {
				return false
			}
			s.calls[0].name = other[s.calls[0].name]
			return true
		}},
		{name: "an empty answer", once: func(_ *scripted, s *said) bool {
			*s = said{}
			return true
		}},
		{name: "only thinking", once: func(_ *scripted, s *said) bool {
			*s = said{text: "<think>\nWhat now?\n</think>\n"}
			return true
		}},
		{name: "the same call again", once: func(m *scripted, s *said) bool {
			m.again = len(s.calls) > 0
			return m.again
		}},
		{name: "nothing for what is optional", once: members(func(args map[string]any) bool {
			_, ok := args["path"]
			args["offset"], args["limit"] = nil, nil
			return ok && args["content"] == nil && args["old_text"] == nil
		})},
	}
}
