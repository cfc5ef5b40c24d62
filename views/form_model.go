package views

// Fields holds what a form shows again after it was refused: the message for each input, and one for the whole form.
type Fields struct {
	Errors  map[string]string
	Message string
}

// Err returns what is wrong with an input.
func (f Fields) Err(name string) string { return f.Errors[name] }

// Refused reports whether the form was sent and refused.
func (f Fields) Refused() bool { return f.Message != "" || len(f.Errors) > 0 }
