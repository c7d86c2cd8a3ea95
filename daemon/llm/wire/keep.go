package wire

import "encoding/json"

// Author says which model wrote the provider data of an answer. Another model cannot read it.
type Author struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
}

// Author returns that of this model's answers.
func (s *Server) Author() Author { return Author{s.Config.Provider, s.Config.Model} }

// Kept decodes provider data, and reports whether this model wrote it.
func (s *Server) Kept(raw json.RawMessage, into any) bool {
	var by Author
	return len(raw) > 0 && json.Unmarshal(raw, &by) == nil && by == s.Author() && json.Unmarshal(raw, into) == nil
}

// JSON encodes what was decoded from JSON before, or a text, which cannot fail.
func JSON(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return raw
}
