package reposerver

import (
	"context"
	"testing"
)

// A Query is what argocd-server asks about a source at the newest commit, for the
// page on which a person edits its parameters.
type Query struct {
	App, RepoURL, Path string
	// Plugin is the name of the plugin; empty where the source has none.
	Plugin string
}

// Details are the answer.
type Details struct {
	Type       string // of the source: Helm, Kustomize, Directory or Plugin
	Parameters []Announcement
}

// Announcement is a parameter that a plugin announces. As JSON it is what a
// plugin's command prints.
type Announcement struct {
	Name           string            `json:"name"`
	Title          string            `json:"title"`
	Tooltip        string            `json:"tooltip"`
	Required       bool              `json:"required"`
	ItemType       string            `json:"itemType"`
	CollectionType string            `json:"collectionType"`
	String         string            `json:"string"`
	Array          []string          `json:"array"`
	Map            map[string]string `json:"map"`
}

// TargetRevision is that of each query.
const TargetRevision = "main"

// encode makes a RepoServerAppDetailsQuery of it.
func (q Query) encode() Message {
	source := Message{}.Text(1, q.RepoURL).Text(2, q.Path).Text(4, TargetRevision)
	if q.Plugin != "" {
		source = source.Message(11, Message{}.Text(1, q.Plugin))
	}
	return Message{}.Message(1, Message{}.Text(1, q.RepoURL)).Message(2, source).Text(5, q.App).Flag(6) // noCache
}

// AppDetails calls GetAppDetails.
func (c *Client) AppDetails(t testing.TB, q Query) Details {
	t.Helper()
	answer, err := c.call(context.Background(), "/repository.RepoServerService/GetAppDetails", q.encode())
	if err != nil {
		t.Fatalf("details of %q: %v", q.Path, err)
	}
	var d Details
	for number, value := range answer.fields(t) {
		switch number {
		case 1:
			d.Type = string(value)
		case 6: // the only field of a PluginAppSpec is the list
			for _, a := range value.fields(t) {
				d.Parameters = append(d.Parameters, announcement(t, a))
			}
		}
	}
	return d
}

// announcement decodes a ParameterAnnouncement.
func announcement(t testing.TB, m Message) Announcement {
	t.Helper()
	var a Announcement
	for number, value := range m.fields(t) {
		text := string(value)
		switch number {
		case 1:
			a.Name = text
		case 2:
			a.Title = text
		case 3:
			a.Tooltip = text
		case 4:
			a.Required = true
		case 5:
			a.ItemType = text
		case 6:
			a.CollectionType = text
		case 7:
			a.String = text
		case 8:
			a.Array = append(a.Array, text)
		case 9:
			entry := map[bool]string{}
			for n, v := range value.fields(t) {
				entry[n == 1] = string(v) // the key, else the value
			}
			if a.Map == nil {
				a.Map = map[string]string{}
			}
			a.Map[entry[true]] = entry[false]
		default:
			t.Fatalf("parameter %q has a field %d, which is not known", a.Name, number)
		}
	}
	return a
}
