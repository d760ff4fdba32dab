package application

// The fields of Argo CD's types in pkg/apis/application/v1alpha1, of all versions from
// 2.14 to 3.3. A test compares them with the types of the version that hallmark builds
// with; those that are newer are marked.

var helmShape = record(map[string]shape{
	"valueFiles": list(text), "values": text, "valuesObject": table(anything),
	"parameters":     list(record(map[string]shape{"name": text, "value": text, "forceString": flag})),
	"fileParameters": list(record(map[string]shape{"name": text, "path": text})),
	"releaseName":    text, "version": text, "namespace": text,
	"kubeVersion": text, "apiVersions": list(text),
	"passCredentials": flag, "ignoreMissingValueFiles": flag,
	"skipCrds": flag, "skipTests": flag, "skipSchemaValidation": flag,
})

var kustomizeShape = record(map[string]shape{
	"namePrefix": text, "nameSuffix": text, "images": list(text), "namespace": text,
	"replicas":     list(record(map[string]shape{"name": text, "count": numeral})),
	"commonLabels": table(text), "forceCommonLabels": flag,
	"labelWithoutSelector":  flag,
	"labelIncludeTemplates": flag, // 3.1
	"commonAnnotations":     table(text), "forceCommonAnnotations": flag, "commonAnnotationsEnvsubst": flag,
	"patches": list(record(map[string]shape{
		"path": text, "patch": text, "options": table(flag),
		"target": record(map[string]shape{
			"group": text, "version": text, "kind": text, "name": text, "namespace": text,
			"labelSelector": text, "annotationSelector": text,
		}),
	})),
	"components":              list(text),
	"ignoreMissingComponents": flag, // 3.1
	"version":                 text, "kubeVersion": text, "apiVersions": list(text),
})

var directoryShape = record(map[string]shape{
	"recurse": flag, "include": text, "exclude": text,
	"disableExtensionFilter": flag, // newer than 3.2
	"jsonnet": record(map[string]shape{
		"extVars": list(jsonnetVariable), "tlas": list(jsonnetVariable), "libs": list(text),
	}),
})

var jsonnetVariable = record(map[string]shape{"name": text, "value": text, "code": flag})

var pluginShape = record(map[string]shape{
	"name": text, "env": list(record(map[string]shape{"name": text, "value": text})),
	"parameters": list(record(map[string]shape{
		"name": text, "string": text, "array": list(text), "map": table(text),
	})),
})

var tools = map[string]shape{
	"helm": helmShape, "kustomize": kustomizeShape, "directory": directoryShape, "plugin": pluginShape,
}

var sourceShape = record(map[string]shape{
	"repoURL": text, "path": text, "targetRevision": text, "chart": text, "ref": text, "name": text,
}).with(tools)

var hydratorShape = record(map[string]shape{
	// The tools of a dry source are newer than 3.2.
	"drySource":  record(map[string]shape{"repoURL": text, "targetRevision": text, "path": text}).with(tools),
	"syncSource": record(map[string]shape{"repoURL": text, "targetBranch": text, "path": text}),
	"hydrateTo":  record(map[string]shape{"targetBranch": text}),
})

var specShape = record(map[string]shape{
	"source": sourceShape, "sources": list(sourceShape), "sourceHydrator": hydratorShape,
	"destination": record(map[string]shape{"server": text, "name": text, "namespace": text}),
	"project":     text, "revisionHistoryLimit": number,
	"info": list(record(map[string]shape{"name": text, "value": text})),
	"syncPolicy": record(map[string]shape{
		"automated": record(map[string]shape{
			"prune": flag, "selfHeal": flag, "allowEmpty": flag,
			"enabled": flag, // 3.1
		}),
		"syncOptions": list(text),
		"retry": record(map[string]shape{
			"limit":   number,
			"refresh": flag, // 3.2
			"backoff": record(map[string]shape{"duration": text, "factor": number, "maxDuration": text}),
		}),
		"managedNamespaceMetadata": record(map[string]shape{"labels": table(text), "annotations": table(text)}),
	}),
	"ignoreDifferences": list(record(map[string]shape{
		"group": text, "kind": text, "name": text, "namespace": text,
		"jsonPointers": list(text), "jqPathExpressions": list(text), "managedFieldsManagers": list(text),
	})),
})

var applicationShape = record(map[string]shape{
	"apiVersion": text, "kind": text, "metadata": table(anything), "spec": specShape,
	"status": anything, "operation": anything,
})

var templateShape = record(map[string]shape{
	"metadata": record(map[string]shape{
		"name": text, "namespace": text, "labels": table(text), "annotations": table(text), "finalizers": list(text),
	}),
	"spec": specShape,
})

var selectorShape = record(map[string]shape{
	"matchLabels": table(text),
	"matchExpressions": list(record(map[string]shape{
		"key": text, "operator": text, "values": list(text),
	})),
})

// terminalShape is a generator that has no others. Those that cannot be expanded here
// are not looked into.
var terminalShape = record(map[string]shape{
	"list": record(map[string]shape{"elements": list(table(anything)), "elementsYaml": text, "template": templateShape}),
	"git": record(map[string]shape{
		"repoURL": text, "revision": text, "requeueAfterSeconds": number, "pathParamPrefix": text,
		"values": table(text), "template": templateShape,
		"directories": list(record(map[string]shape{"path": text, "exclude": flag})),
		"files":       list(record(map[string]shape{"path": text, "exclude": flag})),
	}),
	"clusters": anything, "scmProvider": anything, "clusterDecisionResource": anything,
	"pullRequest": anything, "plugin": anything,
	"selector": selectorShape,
})

// combined adds the generators that combine others. Argo CD allows that twice.
func combined(inner shape) shape {
	return terminalShape.with(map[string]shape{
		"matrix": record(map[string]shape{"generators": list(inner), "template": templateShape}),
		"merge":  record(map[string]shape{"generators": list(inner), "mergeKeys": list(text), "template": templateShape}),
	})
}

var setShape = record(map[string]shape{
	"apiVersion": text, "kind": text, "metadata": table(anything), "status": anything,
	"spec": record(map[string]shape{
		"goTemplate": flag, "goTemplateOptions": list(text),
		"generators": list(combined(combined(terminalShape))),
		"template":   templateShape, "templatePatch": text,
		"syncPolicy":           record(map[string]shape{"preserveResourcesOnDeletion": flag, "applicationsSync": text}),
		"preservedFields":      record(map[string]shape{"labels": list(text), "annotations": list(text)}),
		"applyNestedSelectors": flag,
		"ignoreApplicationDifferences": list(record(map[string]shape{
			"name": text, "jsonPointers": list(text), "jqPathExpressions": list(text),
		})),
		"strategy": record(map[string]shape{
			"type":          text,
			"deletionOrder": text, // 3.2
			"rollingSync": record(map[string]shape{"steps": list(record(map[string]shape{
				"matchExpressions": list(record(map[string]shape{"key": text, "operator": text, "values": list(text)})),
				"maxUpdate":        numeral,
			}))}),
		}),
	}),
})
