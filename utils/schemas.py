#!/usr/bin/env python3
"""Checks JSON that the tools print and write against docs/schemas, or extends the schemas by it.

    schemas.py check NAME FILE...    fails unless each file fits NAME.schema.json, all members known
    schemas.py update NAME FILE...   extends NAME.schema.json by what it does not describe
    schemas.py config                fails unless config.schema.json is that of Config.def
    schemas.py update-config         writes it

test/Docs/Inputs/json-outputs.sh writes FILEs: test/Docs/schemas.test checks them.

A file may hold several documents, one on a line. Configurations, verdicts and metrics in all
schemas are those of include/llvm/Mneme/Config.
"""
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
SCHEMAS = os.path.join(ROOT, "docs", "schemas")
TABLES = os.path.join(ROOT, "include", "llvm", "Mneme", "Config")
DIALECT = "https://json-schema.org/draft/2020-12/schema"

# Objects whose members are data.
MAPS = {"instances", "metrics", "failures", "opcodes", "function", "reasons", "unverified"}
TYPES = {dict: "object", list: "array", str: "string", bool: "boolean", int: "number", float: "number",
         type(None): "null"}


def read_table(name):
    with open(os.path.join(TABLES, name)) as file:
        return re.sub(r"^\s*(//|#).*", "", file.read(), flags=re.M)


def make_config():
    """The schema of a configuration."""
    types = {"bool": "boolean", "std::string": "string", "std::vector<std::string>": "string"}
    properties = {}
    text = re.sub(r'"\s+"', "", read_table("Config.def"))
    for axis, key, cxx, rest in re.findall(
            r'^(?:COMPILE_SETTING|SETTING(_AXIS)?)\(\s*"([\w.]+)",\s*"[\w-]+",\s*([\w:<>]+),(.*?)\)\n', text, re.M | re.S):
        cxx = "unsigned" if axis else re.sub(r"std::optional<(.*)>", r"\1", cxx)
        properties[key] = {"type": types.get(cxx, "integer"), "description": re.findall(r'"([^"]*)"', rest)[-1]}
    return {"$schema": DIALECT, "title": "a configuration of a replay",
            "description": "Settings that differ from the recorded ones. Generated from Config.def by utils/schemas.py.",
            "type": "object", "properties": properties,
            "patternProperties": {"^llvm[.]": {"description": "an LLVM option"},
                                  "^define[.]": {"description": "a macro of the source"}}, "additionalProperties": False}


def read_counters():
    return re.findall(r'^COUNTER\("(\w+)"', read_table("Counters.def"), re.M)


def find_special(key):
    """The schema of a member that a table or another schema describes."""
    if key in ("config", "bad_config", "good_config"):
        return {"$ref": "config.schema.json"}
    if key == "verdict":
        return {"enum": re.findall(r"^\w*VERDICT\((\w+)\)", read_table("Verdicts.def"), re.M)}
    if key == "metrics":
        return {"type": "object", "additionalProperties": {"type": "number"},
                "propertyNames": {"enum": re.findall(r'^METRIC\("(\w+)"', read_table("Metrics.def"), re.M) + read_counters()}}
    if key == "instructions":
        return {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": {"type": "number"}}}
    return None


def extend(schema, value, key=""):
    """Extends a schema by a value. A member that has only been null is not described."""
    special = find_special(key)
    if special and value is not None and special.get("type", TYPES[type(value)]) == TYPES[type(value)]:
        schema.clear()
        schema.update(special)
        return
    kind = TYPES[type(value)]
    known = schema.get("type", [])
    known = [known] if isinstance(known, str) else known
    kinds = sorted(set(known) | {kind})
    if "$ref" in schema or "enum" in schema:
        return
    if kinds == ["null"]:
        schema["default"] = None
        return
    if schema.pop("default", 0) is None:
        kinds = sorted(set(kinds) | {"null"})
    schema["type"] = kinds[0] if len(kinds) == 1 else kinds
    if kind == "array":
        for item in value:
            extend(schema.setdefault("items", {}), item)
    elif kind == "object" and key in MAPS:
        for item in value.values():
            extend(schema.setdefault("additionalProperties", {}), item)
    elif kind == "object":
        properties = schema.setdefault("properties", {})
        required = set(value) & set(schema.get("required", value))
        for name, item in sorted(value.items()):
            extend(properties.setdefault(name, {}), item, name)
        schema["properties"] = dict(sorted(properties.items()))
        schema["required"] = sorted(required)


def read_schema(name):
    with open(os.path.join(SCHEMAS, name + ".schema.json")) as file:
        return json.load(file)


def write_schema(name, schema):
    with open(os.path.join(SCHEMAS, name + ".schema.json"), "w") as file:
        text = json.dumps(schema, indent=1)
        # Lists and objects without members of their own on one line.
        for flat in [r"\[[^][{}]*\]", r"\{[^{}]*\}"]:
            text = re.sub(flat, lambda match: re.sub(r"\s*\n\s*", " ", match[0]), text)
        file.write(text + "\n")


def close(schema):
    """The schema without references, and without members that it does not describe."""
    if isinstance(schema, list):
        return [close(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return close(read_schema(schema["$ref"].replace(".schema.json", "")))
    schema = {k: close(v) for k, v in schema.items()}
    if isinstance(schema.get("properties"), dict) and "type" in schema:
        schema.setdefault("additionalProperties", False)
    return schema


def find_errors(schema, value, path="$"):
    """What the schemas here say: types, members, values."""
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and TYPES[type(value)] not in kinds and not (type(value) is int and "integer" in kinds):
        return [f"{path}: {json.dumps(value)[:80]} is not of type {', '.join(kinds)}"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{path}: {json.dumps(value)} is none of {schema['enum']}"]
    errors = []
    if isinstance(value, list):
        for index, item in enumerate(value):
            errors += find_errors(schema.get("items", {}), item, f"{path}[{index}]")
    if isinstance(value, dict):
        errors += [f"{path}: no '{name}'" for name in schema.get("required", []) if name not in value]
        for name, item in value.items():
            member = schema.get("properties", {}).get(name)
            for pattern, other in schema.get("patternProperties", {}).items():
                if re.search(pattern, name):
                    member = other
            if member is None:
                member = schema.get("additionalProperties", {})
            if member is False or name not in schema.get("propertyNames", {}).get("enum", [name]):
                errors.append(f"{path}: '{name}' is not described")
            else:
                errors += find_errors(member, item, f"{path}.{name}")
    return errors


def read_documents(path):
    with open(path) as file:
        text = file.read()
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in text.splitlines()]


def check(name, paths):
    schema, errors = close(read_schema(name)), []
    for path in paths:
        for document in read_documents(path):
            errors += [f"{path}: {e}" for e in find_errors(schema, document)]
            try:
                # Versions before 4 lack it.
                from jsonschema import Draft202012Validator
                Draft202012Validator.check_schema(schema)
                errors += [f"{path}: {e.json_path}: {e.message[:200]}"
                           for e in Draft202012Validator(schema).iter_errors(document)]
            except ImportError:
                pass
    return errors


def update(name, paths):
    try:
        schema = read_schema(name)
    except OSError:
        schema = {"$schema": DIALECT, "title": name}
    for path in paths:
        for document in read_documents(path):
            extend(schema, document)
    write_schema(name, schema)
    return []


def main():
    command, arguments = sys.argv[1], sys.argv[2:]
    if command == "config":
        fits = read_schema("config") == make_config()
        errors = [] if fits else ["config.schema.json is not that of Config.def: run utils/schemas.py update-config"]
    elif command == "update-config":
        errors = write_schema("config", make_config())
    else:
        errors = {"check": check, "update": update}[command](arguments[0], arguments[1:])
    if errors:
        sys.exit("\n".join(errors))


if __name__ == "__main__":
    main()
