apiVersion: v1
kind: ServiceAccount
metadata:
  name: from-tpl
