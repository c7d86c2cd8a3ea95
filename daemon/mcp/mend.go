package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/tools"
)

// This file is the one place for answers that differ from the form of the protocol. What hob uses of an answer is brought into that form, where
// only one reading is possible. What it does not know is shown with its name. So no answer costs a connection.

// message is a message, and its text in the form of the protocol.
type message struct {
	jsonrpc.Message
	text []byte
}

// messages returns the messages that a text consists of: one, several in a row, or a batch. nil: it is something else. method tells the method of a
// request that has no answer yet, "" if there is none with this id.
func messages(text []byte, in *gauge, method func(id int64) string) (list []message) {
	all := []json.RawMessage{}
	if len(text) > 0 && text[0] == '[' { // a batch holds many messages, which take more memory than their bytes
		if !json.Valid(text) || in.take(batchCost*len(text)) != nil || json.Unmarshal(text, &all) != nil {
			return nil
		}
	} else {
		for d := json.NewDecoder(bytes.NewReader(text)); ; {
			var one json.RawMessage
			if err := d.Decode(&one); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil
			}
			all = append(all, one)
		}
	}
	for _, one := range all {
		one = mended(one, method)
		m, err := jsonrpc.DecodeMessage(one)
		if err != nil {
			return nil
		}
		list = append(list, message{m, one})
	}
	return list
}

// mended returns a message in the form of the protocol. Of an answer that can be to none of hob's requests it returns nil.
func mended(raw []byte, method func(id int64) string) []byte {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m["method"] != nil {
		return raw
	}
	id, ok := idOf(m["id"])
	if !ok {
		return nil
	}
	if m["result"] == nil && m["error"] == nil {
		if m["jsonrpc"] == nil {
			return nil // a line of a log may have an id too
		}
		m["result"] = json.RawMessage("null") // some libraries leave out what is null
	}
	m["id"], m["jsonrpc"] = strconv.AppendInt(nil, id, 10), json.RawMessage(`"2.0"`)
	if e := m["error"]; e != nil {
		m["error"] = mendedError(e)
	}
	m["result"] = mendedResult(m["result"], method(id))
	out, err := json.Marshal(m)
	if err != nil {
		return raw
	}
	return out
}

// idOf reads the id of an answer. hob's ids are whole numbers: "7" and 7.0 can only mean 7.
func idOf(raw json.RawMessage) (int64, bool) {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return 0, false
	}
	text, _ := asText(v).(string)
	id, err := strconv.ParseFloat(text, 64)
	return int64(id), err == nil && id == float64(int64(id))
}

// mendedError returns an error of JSON-RPC.
func mendedError(raw json.RawMessage) json.RawMessage {
	if json.Unmarshal(raw, new(*jsonrpc.Error)) == nil {
		return raw
	}
	v := decoded(raw)
	m, _ := v.(map[string]any)
	if m["message"] != nil {
		v = m["message"]
	}
	message, _ := asText(v).(string)
	code, _ := asText(m["code"]).(string)
	number, err := strconv.ParseInt(code, 10, 64)
	if err != nil {
		number = jsonrpc.CodeInternalError
	}
	return encoded(jsonrpc.Error{Code: number, Message: message})
}

// mendedResult returns the result of a request.
func mendedResult(raw json.RawMessage, method string) json.RawMessage {
	if method != callMethod {
		if m, ok := decoded(raw).(map[string]any); ok && formOf(method) != nil {
			return encoded(formOf(method).make(m))
		}
		return raw
	}
	out := encoded(callResult(decoded(raw)))
	if json.Unmarshal(out, new(sdk.CallToolResult)) != nil {
		out = encoded(map[string]any{"content": []any{piece(map[string]any{"type": "answer", "answer": decoded(raw)})}, "isError": true})
	}
	return out
}

func decoded(raw json.RawMessage) (v any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

func encoded(v any) json.RawMessage {
	out, err := tools.Canonical(v)
	if err != nil {
		return json.RawMessage("null") // nothing that was decoded
	}
	return out
}

// callMethod is the method of a call.
const callMethod = "tools/call"

// formOf is what hob reads of the result of a method; nil: hob does not call it.
func formOf(method string) object {
	named := object{"name": asText, "version": asText}.make
	can := object{"tools": object{"listChanged": asFlag}.make, "resources": object{}.make}.make
	about := object{"name": asText, "description": asText, "uri": asText, "uriTemplate": asText, "mimeType": asText, "inputSchema": asIs, "outputSchema": asIs}.make
	page := func(name string) object {
		return object{name: listOf(about), "nextCursor": asText, "resultType": asText}
	}
	switch method {
	case "initialize":
		return object{"protocolVersion": asText, "capabilities": can, "serverInfo": named}
	case "server/discover":
		return object{"supportedVersions": listOf(asText), "capabilities": can, "_meta": object{sdk.MetaKeyServerInfo: named}.make, "resultType": asText}
	case "tools/list":
		return page("tools")
	case "resources/list":
		return page("resources")
	case "resources/templates/list":
		return page("resourceTemplates")
	case "resources/read":
		return object{"contents": listOf(contents), "resultType": asText, "inputRequests": asIs, "requestState": asText}
	}
	return nil
}

// object is an object of which only these members are read, each in its form.
type object map[string]func(v any) any

func (o object) make(v any) any {
	if v == nil || v == false {
		return nil
	}
	given, _ := v.(map[string]any) // an empty list is PHP's empty object
	out := map[string]any{}
	for name, f := range o {
		if one := f(given[name]); one != nil {
			out[name] = one
		}
	}
	return out
}

// listOf reads a list. A single value is a list of one.
func listOf(of func(v any) any) func(v any) any {
	return func(v any) any {
		list, ok := v.([]any)
		if !ok && v != nil {
			list = []any{v}
		}
		out := []any{}
		for _, one := range list {
			if one = of(one); one != nil {
				out = append(out, one)
			}
		}
		return out
	}
}

func asIs(v any) any { return v }

// asText reads a text. Of anything else it is the JSON.
func asText(v any) any {
	switch v := v.(type) {
	case nil, string:
		return v
	case json.Number:
		return v.String()
	default:
		return string(encoded(v))
	}
}

// asFlag reads a truth value. Any text but a no counts as yes.
func asFlag(v any) any {
	switch text, _ := asText(v).(string); strings.ToLower(strings.TrimSpace(text)) {
	case "", "false", "no", "0", "null", "none", "{}", "[]":
		return false
	default:
		return true
	}
}

// asBytes reads bytes in base64: also that of addresses, without its end, in lines, or with the head of a data: address.
func asBytes(v any) any {
	text, ok := v.(string)
	if head, data, found := strings.Cut(text, ";base64,"); found && strings.HasPrefix(head, "data:") {
		text = data
	}
	text = strings.NewReplacer("-", "+", "_", "/", "\n", "", "\r", "", " ", "").Replace(strings.TrimRight(text, "=\r\n "))
	data, err := base64.RawStdEncoding.DecodeString(text)
	if !ok || err != nil {
		return nil
	}
	return data
}

// contents is what a resource holds.
func contents(v any) any {
	return object{"uri": asText, "mimeType": asText, "text": asText, "blob": asBytes}.make(v)
}

// callResult is the result of a call.
func callResult(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		m = map[string]any{"content": v}
	}
	if old := m["toolResult"]; old != nil && m["content"] == nil { // as of 2024-10-07
		return callResult(old)
	}
	list, _ := listOf(piece)(m["content"]).([]any)
	out, rest := map[string]any{"isError": asFlag(m["isError"])}, map[string]any{}
	if text, _ := m["isError"].(string); out["isError"] == true && text != "" && !strings.EqualFold(text, "true") {
		list = append(list, said("isError: "+text))
	}
	for name, one := range m {
		switch name {
		case "content", "isError", "_meta":
		case "structuredContent", "inputRequests":
			out[name] = one
		case "resultType", "requestState":
			out[name] = asText(one)
		default:
			rest[name] = one
		}
	}
	if len(list) == 0 && out["structuredContent"] == nil && out["inputRequests"] == nil && len(rest) > 0 {
		list = append(list, piece(rest))
	}
	out["content"] = list
	return out
}

func said(text any) any { return map[string]any{"type": "text", "text": text} }

// piece is one piece of a result. What it does not know, it shows as text, with its kind.
func piece(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		if v = asText(v); v == nil {
			return nil
		}
		return said(v)
	}
	kind, _ := m["type"].(string)
	switch strings.ToLower(kind) {
	case "":
		if text, ok := m["text"].(string); ok {
			return said(text)
		}
		return said(asText(v))
	case "text":
		if text := asText(m["text"]); text != nil {
			return said(text)
		}
	case "image", "audio":
		from := m
		if source, ok := m["source"].(map[string]any); ok { // as in requests to Anthropic's models
			from = map[string]any{"data": source["data"], "mimeType": source["media_type"]}
		}
		if data := asBytes(from["data"]); data != nil {
			return map[string]any{"type": strings.ToLower(kind), "data": data, "mimeType": asText(from["mimeType"])}
		}
	case "resource":
		if r, _ := contents(m["resource"]).(map[string]any); r["text"] != nil || r["blob"] != nil {
			return map[string]any{"type": "resource", "resource": r}
		}
	case "resource_link":
		if m["uri"] != nil {
			return object{"type": asText, "uri": asText, "name": asText, "description": asText}.make(v)
		}
	}
	rest := object{}
	for name := range m {
		if name != "type" && name != "_meta" && name != "annotations" {
			rest[name] = asIs
		}
	}
	shown, _ := asText(rest.make(v)).(string)
	if text, ok := m["text"].(string); ok && len(rest) == 1 {
		shown = text
	}
	return said("[a piece of the kind " + quoted(kind, 40) + ", which hob does not know]\n" + shown)
}
