package api

import "strconv"

// Budget is the spending of a day.
type Budget struct {
	Day            string  `json:"day"`            // in the owner's zone
	PerDayMicros   int64   `json:"per_day_micros"` // below 0: no cap
	ReservedMicros int64   `json:"reserved_micros"`
	PerDayTokens   int64   `json:"tokens_per_day"` // cap for models whose price is not known; below 0: no cap
	Set            bool    `json:"set"`            // the owner has set a cap instead of the config's
	UsedTokens     int64   `json:"tokens_used"`    // at an unknown price
	ReservedTokens int64   `json:"tokens_reserved"`
	Sources        []Spent `json:"sources,omitempty"` // who it was spent for, the dearest first
	Used           Cost    `json:"used_micros"`
}

// Spent is the spending of one source on a day.
type Spent struct {
	Source         string `json:"source"` // "jobs", a session's key, "model test"
	ReservedMicros int64  `json:"reserved_micros"`
	UsedTokens     int64  `json:"tokens_used"`
	ReservedTokens int64  `json:"tokens_reserved"`
	Used           Cost   `json:"used_micros"`
}

// Cost is money in millionths of the budget's currency. It is below 0 where no price is known; then it is null in JSON.
type Cost int64

// CostOf is the money that has been used, where tokens may have been used at an unknown price.
func CostOf(micros, tokens int64) Cost {
	if micros == 0 && tokens > 0 {
		return -1
	}
	return Cost(micros)
}

// Micros is the money that is known to be used.
func (c Cost) Micros() int64 { return max(int64(c), 0) }

// MarshalJSON writes a number, or null.
func (c Cost) MarshalJSON() ([]byte, error) {
	if c < 0 {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, int64(c), 10), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *Cost) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*c = -1
		return nil
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	*c = Cost(n)
	return err
}
