package automation

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hob/scheduler"
)

// Limits bound each run of a job. A limit that is not given stays as it is.
type Limits struct {
	Tools    []string // the only tools that a run may call; none: all
	Tokens   int64    // the most tokens that a run may use; 0: the limit of any turn
	OfTools  bool     // Tools is given
	OfTokens bool     // Tokens is given
}

// errLimits shows the whole syntax, so that the model can correct its call.
var errLimits = errors.New(`want "tools=read,grep tokens=20000", with tools=all, tokens=none or none where there is to be no limit`)

// ParseLimits parses "tools=read,grep tokens=20000", or one of the two. "tools=all" and "tokens=none" remove a limit, "none" removes both.
func ParseLimits(text string) (Limits, error) {
	var l Limits
	if strings.TrimSpace(text) == "none" {
		return Limits{OfTools: true, OfTokens: true}, nil
	}
	// A key that is given twice is an error: the caller could mean either.
	for _, word := range strings.Fields(text) {
		key, value, _ := strings.Cut(word, "=")
		var err error
		switch {
		case key == "tools" && value != "" && !l.OfTools:
			l.OfTools = true
			// "all" leaves Tools empty, which means no limit.
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

// tokenCount parses a number of tokens; "none" is 0.
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

// limitsOf describes the limits of a job's runs, "" if there are none. The owner reads it before approving a job.
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
