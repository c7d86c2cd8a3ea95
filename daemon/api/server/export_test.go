package server

import (
	"time"

	"hob/daemon/api"
)

// Begin counts a call of a program.
func (q *Quotas) Begin(client api.Endpoint, now time.Duration) (end func(), err error) {
	return q.begin(client, now)
}

// Full reports whether a scratch folder holds as much as it may.
func Full(folder string) (bool, error) { return full(folder) }
