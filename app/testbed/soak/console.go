package main

import (
	"context"
	"errors"
	"flag"
)

type consoleLoad struct{}

func consoleFlags(*flag.FlagSet, *options) *consoleLoad { return &consoleLoad{} }
func (*consoleLoad) run(context.Context, options) error { return errors.New("not yet") }
