package mcp

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Limits of a request that the server answers with questions (specification 2026-07-28, multi round-trip requests).
const (
	maxRounds = 10 // times that it is sent
	maxEmpty  = 2  // answers that ask nothing: the server wants it later
)

// rounds answers the questions of a server that come instead of a result, and sends the request again with the answers. The SDK could do it,
// but only with its own comparison of forms (see elicit).
func (s *session) rounds(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		empty := 0
		for round := 1; ; round++ {
			res, err := next(ctx, method, req)
			if err != nil {
				return res, err
			}
			asked, state := inputRequests(res)
			if asked == nil {
				return res, nil
			}
			if len(asked) == 0 {
				empty++
			}
			if round == maxRounds || empty > maxEmpty {
				return nil, fmt.Errorf("it asked for more %d times, and gave no result", round)
			}
			answers, err := s.answers(ctx, asked)
			if err != nil {
				return nil, err
			}
			if req, err = again(req, answers, state); err != nil {
				return nil, err
			}
		}
	}
}

// inputRequests returns the questions that a result consists of; nil: it is a result.
func inputRequests(res sdk.Result) (asked sdk.InputRequestMap, state string) {
	switch r := res.(type) {
	case *sdk.CallToolResult:
		if r != nil {
			return r.InputRequests, r.RequestState
		}
	case *sdk.ReadResourceResult:
		if r != nil {
			return r.InputRequests, r.RequestState
		}
	}
	return nil, ""
}

// answers answers the questions one after the other.
func (s *session) answers(ctx context.Context, asked sdk.InputRequestMap) (sdk.InputResponseMap, error) {
	answers := make(sdk.InputResponseMap, len(asked))
	for id, one := range asked {
		switch p := one.(type) {
		case *sdk.ElicitParams:
			answer, err := s.elicit(ctx, p)
			if err != nil {
				return nil, err
			}
			answers[id] = answer
		case *sdk.ListRootsParams: //nolint:staticcheck // it is deprecated, but servers ask
			answers[id] = &sdk.ListRootsResult{Roots: []*sdk.Root{}} //nolint:staticcheck // as above
		default:
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "the server asks for something that hob does not offer"}
		}
	}
	return answers, nil
}

// again is the same request with answers.
func again(req sdk.Request, answers sdk.InputResponseMap, state string) (sdk.Request, error) {
	session, _ := req.GetSession().(*sdk.ClientSession)
	switch p := req.GetParams().(type) {
	case *sdk.CallToolParams:
		next := *p
		next.InputResponses, next.RequestState = answers, state
		return &sdk.ClientRequest[sdk.Params]{Session: session, Params: &next}, nil
	case *sdk.ReadResourceParams:
		next := *p
		next.InputResponses, next.RequestState = answers, state
		return &sdk.ClientRequest[sdk.Params]{Session: session, Params: &next}, nil
	}
	return nil, fmt.Errorf("a question to a request of type %T", req.GetParams())
}
