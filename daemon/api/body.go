package api

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"
)

// BodyProblem says what is wrong with a JSON body in the caller's terms. The error of encoding/json itself speaks of Go types.
func BodyProblem(err error) string {
	var typ *json.UnmarshalTypeError
	switch {
	case errors.As(err, &typ):
		got, _, _ := strings.Cut(typ.Value, " ") // "number 3.5"
		text := "want " + wanted(typ.Type.Kind()) + ", got " + map[string]string{"string": "a text", "bool": "true or false", "array": "a list", "object": "an object", "number": "a number"}[got]
		if typ.Field != "" {
			text = strconv.Quote(typ.Field) + ": " + text
		}
		return text
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "it ends too early"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// wanted is the JSON name of what a kind of Go value is read from.
func wanted(k reflect.Kind) string {
	switch k {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "a number"
}
