package application

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"
)

// refused are functions that give another result each time or on another machine, or
// that take a processor for long: keys, passwords and their hashes.
var refused = []string{
	"now", "ago", "date", "date_in_zone", "date_modify", "dateInZone", "dateModify", "must_date_modify", "mustDateModify",
	"htmlDate", "htmlDateInZone", "durationRound", "toDate", "mustToDate",
	"randAlphaNum", "randAlpha", "randAscii", "randNumeric", "randBytes", "randInt", "shuffle", "uuidv4",
	"genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey",
	"encryptAES", "bcrypt", "htpasswd", "derivePassword",
}

// growing are functions whose result can be as large as the product of their arguments,
// where a number stands for itself.
var growing = []string{
	"repeat", "indent", "nindent", "wrap", "wrapWith", "join", "replace", "until", "untilStep", "seq",
	"regexReplaceAll", "mustRegexReplaceAll", "regexReplaceAllLiteral", "mustRegexReplaceAllLiteral",
}

// functions returns those of Argo CD's go templates: sprig's without the environment
// and the network, five of its own, and those of package template that give text.
// Each counts steps of e and refuses to give more than maxResult bytes.
func functions(e *engine) template.FuncMap {
	all := sprig.TxtFuncMap()
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(all, name)
	}
	for name, f := range map[string]any{
		"normalize": normalize, "slugify": slugify,
		"toYaml": toYAML, "fromYaml": fromYAML, "fromYamlArray": fromYAMLArray,
		"print": fmt.Sprint, "printf": fmt.Sprintf, "println": fmt.Sprintln,
		"html": template.HTMLEscaper, "js": template.JSEscaper, "urlquery": template.URLQueryEscaper,
	} {
		all[name] = f
	}
	for name, f := range all {
		all[name] = e.guard(name, f)
	}
	for _, name := range refused {
		all[name] = func(...any) (string, error) {
			return "", errors.New("hallmark does not call it: it depends on the clock or on chance, or takes long, and applications are to come out the same each time")
		}
	}
	all[countRound] = func() (string, error) { return "", e.spend(1) }
	all[countCall] = func() (string, error) { return "", e.spend(templateSteps) }
	return all
}

// wide is a verb of printf that pads to more than 999 characters, or to an argument.
var wide = regexp.MustCompile(`%[^a-zA-Z%]*([0-9]{4}|\*)`)

// guard wraps a function. It panics with an error, which package template makes an
// error of the call.
func (e *engine) guard(name string, function any) any {
	f := reflect.ValueOf(function)
	grows := slices.Contains(growing, name)
	return reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
		check := func(err error) {
			if err != nil {
				panic(err)
			}
		}
		check(e.spend(1))
		if grows {
			check(bearable(args))
		}
		if name == "printf" && wide.MatchString(args[0].String()) {
			check(limitError("a width or precision of more than 999"))
		}
		var out []reflect.Value
		if f.Type().IsVariadic() {
			out = f.CallSlice(args)
		} else {
			out = f.Call(args)
		}
		left := maxResult
		if weigh(out[0], &left, 0); left < 0 {
			check(limitError("a value of more than %d bytes", maxResult))
		}
		check(e.spend((maxResult - left) / 64))
		return out
	}).Interface()
}

// bearable reports an error where the greatest number among the arguments times the
// sizes of the others is beyond all bounds.
func bearable(args []reflect.Value) error {
	product, most := 1.0, 1.0
	var count func(arg reflect.Value)
	count = func(arg reflect.Value) {
		switch {
		case arg.Kind() == reflect.Interface && !arg.IsNil():
			count(arg.Elem())
		case arg.Kind() == reflect.String:
			product *= 1 + float64(arg.Len())
		case arg.CanInt():
			most = max(most, float64(arg.Int()), -float64(arg.Int()))
		case arg.CanFloat():
			most = max(most, arg.Float(), -arg.Float())
		case arg.Kind() == reflect.Slice && arg.Type().Elem().Kind() == reflect.Int: // numbers of seq
			for i := range arg.Len() {
				count(arg.Index(i))
			}
		default:
			left := maxResult
			weigh(arg, &left, 0)
			product *= 1 + float64(maxResult-left)
		}
	}
	for _, arg := range args {
		count(arg)
	}
	if most*product > 32*maxResult || product == 1 && most > maxResult {
		return limitError("a value of more than %d bytes", maxResult)
	}
	return nil
}

// weigh takes the size of a value from left, until that is below 0: a value may hold
// itself. What is in it twice counts twice, as it does when it is printed.
func weigh(v reflect.Value, left *int, depth int) {
	if *left -= 8; *left < 0 {
		return
	}
	if depth > 1000 {
		*left = -1
		return
	}
	switch v.Kind() {
	case reflect.String:
		*left -= v.Len()
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			weigh(v.Elem(), left, depth+1)
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			*left -= v.Len()
			return
		}
		for i := 0; i < v.Len() && *left >= 0; i++ {
			weigh(v.Index(i), left, depth+1)
		}
	case reflect.Map:
		for entry := v.MapRange(); *left >= 0 && entry.Next(); {
			weigh(entry.Key(), left, depth+1)
			weigh(entry.Value(), left, depth+1)
		}
	}
}

var notInName = regexp.MustCompile(`[^-a-z0-9.]`)

// normalize makes a DNS name of a text.
func normalize(name string) string {
	name = notInName.ReplaceAllString(strings.ToLower(name), "-")
	if len(name) > 253 {
		name = name[:253]
	}
	return strings.Trim(name, "-.")
}

var (
	notInSlug = regexp.MustCompile(`[^a-zA-Z0-9_-]`)
	dashes    = regexp.MustCompile(`-+`)
)

// slugify makes a name without dots of its last argument. Before that may come the
// greatest length (50) and whether to cut at a word (true).
func slugify(args ...any) (string, error) {
	length, atWord, name := 50, true, ""
	for i, arg := range args {
		ok := true
		switch {
		case i == len(args)-1:
			name, ok = arg.(string)
		case i == 0:
			length, ok = arg.(int)
		case i == 1:
			atWord, ok = arg.(bool)
		}
		if !ok {
			return "", fmt.Errorf("argument %d: got %T, want length, whether to cut at a word, and the text", i+1, arg)
		}
	}
	if length < 0 {
		return "", fmt.Errorf("a length of %d", length)
	}
	slug := normalize(name)
	if !atWord && len(slug) >= length {
		slug = slug[:length]
	}
	slug = strings.Trim(dashes.ReplaceAllString(notInSlug.ReplaceAllString(slug, "-"), "-"), "-_")
	if length == 0 || !atWord || len(slug) <= length {
		return slug, nil
	}
	if end := strings.LastIndexByte(slug[:length+1], '-'); end >= 0 {
		return slug[:end], nil
	}
	return slug[:length], nil
}

func toYAML(v any) (string, error) {
	data, err := yaml.Marshal(v)
	return strings.TrimSuffix(string(data), "\n"), err
}

func fromYAML(text string) (map[string]any, error) {
	out := map[string]any{}
	err := yaml.Unmarshal([]byte(text), &out)
	return out, err
}

func fromYAMLArray(text string) ([]any, error) {
	out := []any{}
	err := yaml.Unmarshal([]byte(text), &out)
	return out, err
}
