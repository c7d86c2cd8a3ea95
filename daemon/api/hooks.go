package api

import (
	"net/http"
	"time"
)

// HookRequest is one request that came to a webhook.
type HookRequest struct {
	Name   string
	Header http.Header
	Body   []byte // as it came
}

// HookReply is what the sender of a delivery is told.
type HookReply struct {
	Status int           // of HTTP; 0: nothing yet
	Doc    any           // below 400: a JSON document
	Detail string        // from 400 on: one sentence
	Hint   string        //
	Retry  time.Duration // when to come again; 0: nothing is said about it
}
