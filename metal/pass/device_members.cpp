// Gives a member function with the attribute `assay_device_member` an object in `device`.
//
// C++ for OpenCL allows only `__global` behind a member function, and `__global` is our `constant`. Our `device` is the subset that
// clang calls opencl_global_device, which has no keyword. Without the attribute, `f() device` and `f() constant` would be one function.
// Clang itself then handles overloads, `this` and everything else that follows from the function's type.
#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>
#include <clang/Sema/ParsedAttr.h>
#include <clang/Sema/Sema.h>

#include <cstring>

namespace {

class DeviceMember : public clang::ParsedAttrInfo {
 public:
  DeviceMember() {
    static constexpr Spelling kSpellings[] = {{clang::ParsedAttr::AS_GNU, "assay_device_member"}};
    Spellings = kSpellings;
  }

  // Clang calls this before it looks up earlier declarations of the same function, so they are compared by the new type.
  AttrHandling handleDeclAttribute(clang::Sema& sema, clang::Decl* declaration, const clang::ParsedAttr&) const override {
    auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(declaration);
    const auto* type = method == nullptr ? nullptr : method->getType()->getAs<clang::FunctionProtoType>();
    if (type == nullptr || type->getMethodQuals().getAddressSpace() != clang::LangAS::opencl_global) return refuse(sema, *declaration);
    auto& context = sema.getASTContext();
    auto properties = type->getExtProtoInfo();
    properties.TypeQuals.setAddressSpace(clang::LangAS::opencl_global_device);
    const auto placed = context.getFunctionType(type->getReturnType(), type->getParamTypes(), properties);
    // Changes the type as written too, because templates are instantiated from it. The two have the same layout, since only
    // a qualifier differs.
    const auto written = method->getTypeSourceInfo()->getTypeLoc();
    if (written.getAs<clang::FunctionProtoTypeLoc>().isNull() || written.getType()->getAs<clang::FunctionProtoType>() != type)
      return refuse(sema, *declaration);
    auto* source = context.CreateTypeSourceInfo(placed, written.getFullDataSize());
    std::memcpy(source->getTypeLoc().getOpaqueData(), written.getOpaqueData(), written.getFullDataSize());
    method->setType(placed);
    method->setTypeSourceInfo(source);
    return AttributeApplied;
  }

 private:
  // An ignored attribute would lead to wrong results.
  static AttrHandling refuse(clang::Sema& sema, const clang::Decl& declaration) {
    sema.Diag(declaration.getLocation(),
              sema.getDiagnostics().getCustomDiagID(clang::DiagnosticsEngine::Error,
                                                    "no function of objects in 'device' can be declared like this"));
    return AttributeApplied;
  }
};

const clang::ParsedAttrInfoRegistry::Add<DeviceMember> kAttributeRegistration("assay_device_member",
                                                                              "a member function of objects in device");

}  // namespace
