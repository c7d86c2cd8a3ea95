package wire

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// complaint is one thing that a refusal is about.
type complaint struct {
	at    string // the path of the field, where the server tells it apart from the text
	words string // in lower case, without what the server repeats of the request and without advice
}

// dispensable lists the fields of all three protocols that hob can do without. Those of a tool's schema are not among them.
func dispensable() []string {
	return []string{
		"max_tokens", "max_completion_tokens", "max_output_tokens", "stream_options", "stream_options.include_usage",
		"reasoning_effort", "reasoning", "reasoning.effort", "reasoning.summary", "thinking", "thinking.display", "output_config", "output_config.effort",
		"parallel_tool_calls", "tool_choice", "include", "store", "prompt_cache_key", "tools.*.strict",
		"tools.*.cache_control", "system.*.cache_control", "messages.*.content.*.cache_control", "messages.*.content.*.title",
		"messages.*.reasoning_content", "messages.*.reasoning_details", "messages.*.tool_calls.*.extra_content",
		"input.*.phase", "input.*.content.*.detail",
	}
}

// complaints reads a refusal: the list that a validator such as FastAPI's writes, or one message with the name of its field.
func complaints(body []byte) []complaint {
	var shape any
	if json.Unmarshal(body, &shape) == nil {
		if list := validated(shape); list != nil {
			return list
		}
	}
	words, code := said(body)
	words, at := words+" "+code, ""
	outer, _ := shape.(map[string]any) // a refusal of another form has no fields
	inner, _ := outer["error"].(map[string]any)
	for _, object := range []map[string]any{outer, inner} {
		if path, ok := object["param"].(string); ok {
			at = path
		}
		for _, key := range []string{"n_ctx", "n_prompt_tokens"} { // llama.cpp
			if n, ok := object[key].(float64); ok {
				words += fmt.Sprintf(" %s: %.0f", key, n)
			}
		}
	}
	return []complaint{about(at, words)}
}

// validated finds the complaints of a validator: objects with "loc" and "msg". What it repeats of the request is not read.
func validated(v any) (list []complaint) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			list = append(list, validated(e)...)
		}
	case map[string]any:
		if loc, ok := v["loc"].([]any); ok {
			return []complaint{about(fmt.Sprint(loc), fmt.Sprint(v["type"], " ", v["msg"]))}
		}
		for _, key := range []string{"detail", "message", "error", "errors"} {
			list = append(list, validated(v[key])...)
		}
	}
	return list
}

// about takes off the text what repeats the request, and what names other fields as advice.
func about(at, words string) complaint {
	words = folded(words)
	for _, sign := range []string{"'input':", `"input":`, ", value: ", "did you mean", "supported parameters", "for more information", "to drop these"} {
		words, _, _ = strings.Cut(words, sign)
	}
	return complaint{at, words}
}

// unknown reports whether the complaint is that something is not known or not taken here.
func (c complaint) unknown() bool {
	return has(c.words, []string{
		"unsupported", "not support", "unknown", "unrecognized", "unrecognised", "extra inputs", "extra_forbidden", "extra fields",
		"not permitted", "not allowed", "cannot find field", "extraneous", "unexpected", "not available", "not enabled", "not accepted",
		"reasoning is mandatory", "always engages",
	}) && !has(c.words, []string{"missing", "required"})
}

// fields returns the dispensable fields that the complaint is about.
func (c complaint) fields() []string {
	found := matching(c.at)
	if len(namesIn(c.at)) == 0 {
		found = c.mentioned()
	}
	if !c.unknown() { // then it may be about the value, which matters for the level of thinking only
		return slices.DeleteFunc(found, func(path string) bool { return !strings.HasSuffix(path, "effort") || c.offered() == "" })
	}
	return found
}

// mentioned returns the dispensable fields that the text names. If it names several, but not as a list, it may mean one of them, and none
// is returned.
func (c complaint) mentioned() (found []string) {
	// These have words of their own for a field: Ollama, Anthropic, OpenRouter, z.ai.
	for sign, paths := range map[string][]string{
		"not support thinking": {"reasoning_effort", "reasoning", "thinking"}, "the effort parameter": {"output_config.effort"},
		"adaptive thinking": {"thinking"}, "reasoning is mandatory": {"reasoning", "reasoning_effort"}, "support reasoning effort": {"reasoning_effort"},
		"always engages in thinking": {"reasoning_effort"}, "invalid reasoning value": {"reasoning_effort"},
	} {
		if strings.Contains(c.words, sign) {
			return paths
		}
	}
	text, _, _ := strings.Cut(c.words, "expected one of")
	text, _, _ = strings.Cut(text, ". use ") // advice
	names := 0
	for _, m := range regexp.MustCompile("(['\"`\\[]?)(#?/?[a-z]\\w*(?:(?:\\.|\\[|\\]\\.?|/)\\w+)*)(['\"`\\]:]?)").FindAllStringSubmatch(text, -1) {
		paths := matching(m[2])
		// A word of the language counts only in quotes or before a colon. The second name of a limit is advice.
		word := !strings.ContainsAny(m[2], "_.#") && m[3] != ":" && (m[1] == "" || m[3] == "")
		if paths == nil || word || slices.Contains(found, paths[0]) || found != nil && strings.HasPrefix(m[2], "max_") && strings.HasPrefix(found[0], "max_") {
			continue
		}
		found, names = append(found, paths...), names+1
	}
	if names > 1 && !has(text, []string{"arguments supplied", "parameters:"}) {
		return nil
	}
	return found
}

// namesIn returns the names in a path, without the numbers of elements and the name of the whole body.
func namesIn(path string) []string {
	list := regexp.MustCompile(`[a-z_]\w*`).FindAllString(strings.ToLower(path), -1)
	return slices.DeleteFunc(list, func(w string) bool { return w == "body" || w == "request" })
}

// matching returns the dispensable fields that a path names: the innermost that it contains, or all that have this one name.
func matching(path string) (list []string) {
	names := namesIn(path)
	if slices.ContainsFunc(names, func(n string) bool { return n == "parameters" || n == "input_schema" || n == "properties" }) {
		return nil // a property of a tool's schema
	}
	plain := func(name string) string { return strings.ReplaceAll(name, "_", "") } // some write reasoningEffort
	for i := len(names) - 1; i >= 0 && list == nil; i-- {
		for _, p := range dispensable() {
			parts := strings.Split(p, ".")
			if plain(parts[len(parts)-1]) == plain(names[i]) && (len(names) == 1 || parts[0] == names[0]) {
				list = append(list, p)
			}
		}
	}
	return list
}

// refusesSystem reports whether the complaint is about the role of the system message.
func (c complaint) refusesSystem() bool {
	if names := namesIn(c.at); len(names) > 1 && names[0] == "messages" && names[len(names)-1] == "role" {
		return true
	}
	return regexp.MustCompile(`system['"]? (?:role|messages?|prompts?|instructions?)\W+(?:is |are )?not (?:supported|allowed|enabled)|` +
		`role\W+system\W+(?:is |was )?not (?:supported|allowed)|does not support\W+system\b|(?:unexpected|unknown|invalid|unsupported)(?: message)? role\W+system|` +
		`developer instruction is not enabled|only user\b.{0,30}roles? (?:are )?supported|roles must alternate`).MatchString(c.words)
}

// offered returns the part of the text that lists the values that are taken; "" without one.
func (c complaint) offered() string {
	return regexp.MustCompile(`(?:supported values|must be|should be|expected one of|allowed values|valid values|accepted values|please use|available).*`).FindString(c.words)
}

// nearest returns the offered level of thinking that is nearest to the wanted one, and the lower of two. Thinking that is wanted is never
// turned off. "" means that none is offered.
func nearest(wanted, offered string) (best string) {
	levels, far := []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}, 0
	at := slices.Index(levels, wanted)
	for i, level := range levels {
		if at >= 0 && slices.Contains(namesIn(offered), level) && (level != "none" || wanted == "none") && (best == "" || max(i-at, at-i) < far) {
			best, far = level, max(i-at, at-i)
		}
	}
	return best
}
