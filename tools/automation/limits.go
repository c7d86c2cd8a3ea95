package automation

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hob/scheduler"
)

// Limits are what a run of a job may do at most. A part that is not given is left as it is.
type Limits struct {
	Tools    []string // the only tools that it may call; none: all
	Tokens   int64    // that it may use; 0: as any turn
	OfTools  bool     // Tools is given
	OfTokens bool     // Tokens is given
}

var errLimits = errors.New(`want "tools=read,grep tokens=20000", with tools=all, tokens=none or none where there is to be no limit`)

// ParseLimits reads "tools=read,grep tokens=20000", one of the two or both; "tools=all" and "tokens=none" lift a limit, "none" lifts both.
func ParseLimits(text string) (Limits, error) {
	var l Limits
	if strings.TrimSpace(text) == "none" {
		return Limits{OfTools: true, OfTokens: true}, nil
	}
	for _, word := range strings.Fields(text) {
		key, value, _ := strings.Cut(word, "=")
		var err error
		switch {
		case key == "tools" && value != "" && !l.OfTools:
			l.OfTools = true
			if value != "all" {
				l.Tools = strings.Split(value, ",")
			}
		case key == "tokens" && value != "" && !l.OfTokens:
			l.OfTokens = true
			l.Tokens, err = tokenCount(value)
		default:
			err = fmt.Errorf("limits %q: %w", word, errLimits)
		}
		if err != nil {
			return Limits{}, err
		}
	}
	return l, nil
}

func tokenCount(text string) (int64, error) {
	if text == "none" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("limits: tokens %q: want a number", text)
	}
	return n, nil
}

// limitsOf is what a job's runs may do at most, in words; "" where nothing limits them.
func limitsOf(j scheduler.View) string {
	var parts []string
	if len(j.Tools) > 0 {
		parts = append(parts, "only the tools "+strings.Join(j.Tools, ", "))
	}
	if j.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("at most %d tokens", j.Tokens))
	}
	if len(parts) == 0 {
		return ""
	}
	return "each run: " + strings.Join(parts, "; ")
}
